/**
 * Generates docs/sdk.md: all exports of `sdk/index.ts`, with the docstrings that editors show.
 *
 * - The types are printed as in the source, because the resolved types are longer.
 * - A class without a docstring is documented by the first comment of its file. A wire object is a link to
 *   its schema in api.md. If any other public name has no docstring, the generation fails.
 * - A constant is a link to the page that lists its values. The examples are the files of examples/sdk, which
 *   a test runs.
 *
 * docs/decisions/002 explains the choice of ts-morph.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import {
  type ClassDeclaration,
  type ConstructorDeclaration,
  type ExportedDeclarations,
  type FunctionDeclaration,
  type JSDocableNode,
  type MethodDeclaration,
  Node,
  type ParameterDeclaration,
  Project,
  type PropertyDeclaration,
} from 'ts-morph'
import { localErrors } from '../../sdk/program.ts'
import { code, fenced, link, linkedSentence, page, table, wrapped } from './markdown.ts'

const root = join(import.meta.dirname, '../..')

/** The classes that a program creates first, with the variable name that the page uses for an instance. */
const clients: Readonly<Record<string, string>> = { Bridge: 'bridge', Owner: 'owner' }

interface Public {
  readonly name: string
  readonly declaration: ExportedDeclarations
}

/** Text with a link to the page that lists the values of a constant. */
const constants: Readonly<Record<string, string>> = {
  errors: 'Its codes: [errors.md](errors.md). `errors[code]` is `{ status, retry, meaning }`.',
  limits:
    'Its numbers: [protocol.md](protocol.md). Sizes are in bytes, and a range is `{ min, max, default }`.',
}

/** Public names without a docstring. */
const missing: string[] = []

export function sdkPage(): string {
  const project = new Project({
    tsConfigFilePath: join(root, 'tsconfig.json'),
    skipAddingFilesFromTsConfig: true,
  })
  const index = project.addSourceFileAtPath(join(root, 'sdk/index.ts'))
  const exported = [...index.getExportedDeclarations()].flatMap(([name, declarations]) => {
    // A schema and its type share a name: the type is what a program names.
    const declaration = declarations.find(Node.isTypeAliasDeclaration) ?? declarations[0]
    return declaration === undefined ? [] : [{ name, declaration }]
  })
  const sorted = [...exported].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, 'en'))
  const values = sorted.filter((each) => rank(each) < 3)
  const shapes = sorted.filter((each) => rank(each) === 3 && schemaOf(each) === undefined)
  const wire = sorted.filter((each) => schemaOf(each) !== undefined)
  const written = page('SDK', [
    wrapped(
      "`import … from 'agent-bridge'` and `require('agent-bridge')` give the names of this page. Times on the wire are ISO 8601 in" +
        ' UTC. A name that ends in `Ms` is in milliseconds, in `Seconds` or `_seconds` in seconds, in `Bytes` in bytes. Every' +
        ' call to the node takes an `AbortSignal`. It throws [BridgeError](#bridgeerror) when the node refuses, and' +
        ' [LocalError](#localerror) when no answer of the node came. *Throws* names the codes to expect, of' +
        ' [errors.md](errors.md) and of [LocalErrorCode](#localerrorcode).',
    ),
    'The types name those of Node: TypeScript needs `@types/node` beside them.',
    wrapped(
      "`import { openOwner } from 'agent-bridge/browser'` is the owner's half for a page that the node serves. The result has" +
        ' the resources of [Owner](#owner), and takes ids in place of names. The browser keeps the cookie. The types need the' +
        ' library `DOM` of TypeScript.',
    ),
    wrapped(
      'The examples run on every Node from 22.19 on, so they call `close()`. From Node 24 on,' +
        ' `await using` calls it at the end of the block.',
    ),
    '## Examples',
    ...examples(),
    '## Names',
    table(
      ['name', 'meaning'],
      values.map((each) => [code(each.name), linkedSentence(firstSentence(docOf(each)), '', each.name)]),
    ),
    ...values.flatMap(sectionOf),
    '## Types',
    ...shapes.flatMap(sectionOf),
    '## Wire objects',
    'The objects of the wire, as [api.md](api.md) describes them:',
    wrapped(wire.map((each) => link(code(each.name), 'api.md', schemaOf(each) ?? '')).join(', ')),
  ])
  if (missing.length > 0) throw new Error(`public, and without a docstring:\n${missing.join('\n')}`)
  return written
}

/** Returns the programs of examples/sdk, with the import path replaced by the package name. */
const examples = (): string[] =>
  globSync('examples/sdk/*.ts', { cwd: root })
    .sort()
    .flatMap((path) => {
      const [, words = '', text = ''] =
        /^\/\*\* (.*) \*\/\n([\s\S]*)$/.exec(readFileSync(join(root, path), 'utf8')) ?? []
      return [words, fenced('ts', text.trim().replace("'../../sdk/index.ts'", "'agent-bridge'"))]
    })

/** Returns the schema name of a wire object, if api.md has a section for it. */
function schemaOf({ declaration }: Public): string | undefined {
  if (!Node.isTypeAliasDeclaration(declaration)) return undefined
  const schema = /^Static<typeof (\w+)>$/.exec(typeText(declaration.getTypeNode()))?.[1]
  return schema !== undefined && hasHeading(schema) ? schema : undefined
}

/** Sort order: clients, other classes, functions and values, types. */
function rank({ name, declaration }: Public): number {
  if (Object.hasOwn(clients, name)) return 0
  if (Node.isClassDeclaration(declaration)) return 1
  return Node.isInterfaceDeclaration(declaration) || Node.isTypeAliasDeclaration(declaration) ? 3 : 2
}

function sectionOf(each: Public): string[] {
  const { name, declaration } = each
  const head = [`### ${name}`, wrapped(withSource(docOf(each), declaration))]
  if (name === 'LocalErrorCode')
    return [
      ...head,
      table(
        ['code', 'meaning'],
        Object.entries(localErrors).map(([key, means]) => [code(key), means]),
      ),
    ]
  if (name in constants) return [...head, constants[name] ?? '']
  if (!Node.isClassDeclaration(declaration)) return [...head, shapeOf(declaration)]
  const client = clients[name]
  return [
    ...head,
    ...membersOf(declaration, client ?? name),
    ...(client ? resourcesOf(declaration, client) : []),
  ]
}

/** Returns the sections of a client's resources. A program reaches these classes only through the client. */
function resourcesOf(client: ClassDeclaration, name: string): string[] {
  return publicOf(propertiesOf(client)).flatMap((property) => {
    const type = property.getType().getSymbol()?.getDeclarations().find(Node.isClassDeclaration)
    if (type === undefined || type.isExported() === false || !/\/(resources|directory)/.test(pathOf(type)))
      return []
    const place = `${name}.${property.getName()}`
    const head = [`#### ${place}`, wrapped(withSource(textOf(type, place), type))]
    return [...head, ...membersOf(type, place, false)]
  })
}

function membersOf(type: ClassDeclaration, place: string, withProperties = true): string[] {
  const made = withProperties ? type.getConstructors().filter((each) => each.getScope() === 'public') : []
  const constructors = made.flatMap((each) =>
    callOf(`new ${type.getName()}${parametersOf(each)}`, textOf(each)),
  )
  const properties = withProperties
    ? publicOf(propertiesOf(type)).map((each) => propertyOf(each, each.getTypeNode(), place))
    : []
  const getters = publicOf(type.getGetAccessors()).map((each) =>
    propertyOf(each, each.getReturnTypeNode(), place),
  )
  const methods = publicOf(type.getMethods()).flatMap((each) => {
    const owner = each.isStatic() ? (type.getName() ?? place) : place
    return callOf(`${owner}.${signatureOf(each)}`, textOf(each, `${owner}.${each.getName()}`))
  })
  const rows = [...properties, ...getters]
  return [
    ...constructors,
    ...(rows.length > 0 ? [table(['property', 'type', 'meaning'], rows)] : []),
    ...methods,
  ]
}

/** Returns the properties of a class, those of its base class first. */
const propertiesOf = (type: ClassDeclaration): PropertyDeclaration[] => [
  ...(type.getBaseClass()?.getProperties() ?? []),
  ...type.getInstanceProperties().filter(Node.isPropertyDeclaration),
]

/** Returns the row of a property: its place, its type and its description. */
const propertyOf = (
  property: JSDocableNode & Node & { getName(): string },
  type: Node | undefined,
  place: string,
): string[] => {
  const name = `${place}.${property.getName()}`
  return [code(name), code(typeText(type)), textOf(property, name)]
}

/** Returns the signature of a constructor or method, and below it the paragraphs of its description. */
const callOf = (signature: string, text: string): string[] => [block(signature), wrapped(text)]

/** Omits members that are `#private` or `private`, and symbols such as `util.inspect.custom`. */
const publicOf = <T extends { getName(): string; getScope(): string }>(members: readonly T[]): T[] =>
  members.filter((each) => !/^[#[]|^name$/.test(each.getName()) && each.getScope() === 'public')

type Callable = MethodDeclaration | FunctionDeclaration

function signatureOf(callable: Callable): string {
  const types = callable.getTypeParameters().map((each) => each.getText())
  const generic = types.length === 0 ? '' : `<${types.join(', ')}>`
  return `${callable.getName()}${generic}${parametersOf(callable)}: ${typeText(callable.getReturnTypeNode())}`
}

const parametersOf = (callable: Callable | ConstructorDeclaration): string =>
  `(${callable.getParameters().map(parameterText).join(', ')})`

/** Returns a parameter with its type. A destructured parameter is named `options`. */
function parameterText(parameter: ParameterDeclaration): string {
  const name = /^[{[]/.test(parameter.getName()) ? 'options' : parameter.getName()
  return `${name}${parameter.isOptional() ? '?' : ''}: ${typeText(parameter.getTypeNode())}`
}

const typeText = (type: Node | undefined): string => (type?.getText() ?? 'unknown').replace(/\s+/g, ' ')

/** Returns the code block below the docstring of an export that is no class. */
function shapeOf(declaration: ExportedDeclarations): string {
  if (Node.isFunctionDeclaration(declaration)) return block(`function ${signatureOf(declaration)}`)
  if (Node.isVariableDeclaration(declaration)) return variableOf(declaration)
  if (Node.isTypeAliasDeclaration(declaration)) {
  }
  return block(declaration.getText().replace(/^export /, ''))
}

function variableOf(declaration: Node & { getName(): string }): string {
  if (!Node.isVariableDeclaration(declaration)) return ''
  const value = declaration.getInitializer()
  if (Node.isArrowFunction(value)) {
    const parameters = value.getParameters().map(parameterText).join(', ')
    return block(`function ${declaration.getName()}(${parameters}): ${typeText(value.getReturnTypeNode())}`)
  }
  return block(
    `const ${declaration.getName()}: ${declaration
      .getType()
      .getText(declaration)
      .replace(/import\("[^"]*"\)\./g, '')}`,
  )
}

function docOf({ name, declaration }: Public): string {
  const holder = Node.isVariableDeclaration(declaration) ? declaration.getVariableStatement() : declaration
  if (holder === undefined || !Node.isJSDocable(holder)) throw new Error(`${name} cannot be documented`)
  return textOf(holder, name)
}

/**
 * A sentence such as `Contract §9 "Direct mode".` The reader of the page does not have the specification.
 */
const citation = /\b(?:Spec|Contract)\s§(?:[^.]|\.(?=\S))*\.(?: |(?=\s|$))/g

/** Returns the docstring as Markdown. If a named node has none, its name is added to {@link missing}. */
function textOf(node: JSDocableNode & Node, name?: string): string {
  const text =
    node
      .getJsDocs()
      .map((each) => each.getInnerText())
      .join('\n\n')
      .trim() || inherited(node)
  if (text === '' && name !== undefined) missing.push(`${pathOf(node)}: ${name}`)
  return text
    .replace(citation, '')
    .replace(/[ \n]+$|\n(?=\n\n)/g, '')
    .replace(/\{@link\s([^}]+)\}/g, (_whole, target: string) => code(target.trim()))
    .replace(/\s*@throws /g, '\n\n*Throws* ')
    .trim()
    .replace(/(^|\n\n)(\*Throws\* (?:.|\n(?!\n))*[^.])(?=\n\n|$)/g, '$1$2.')
}

/**
 * Returns the text for a node without a docstring, from its file, its type or its class. Empty if there is
 * none.
 */
function inherited(node: Node): string {
  if (Node.isClassDeclaration(node)) {
    const [head] = node.getSourceFile().getStatementsWithComments()
    return (
      head
        ?.getLeadingCommentRanges()[0]
        ?.getText()
        .replace(/^\/\*\*|[ \t]*\*\/$|^[ \t]*\*[ \t]?/gm, '')
        .trim() ?? ''
    )
  }
  if (Node.isTypeAliasDeclaration(node) && /^Static</.test(typeText(node.getTypeNode())))
    return 'An object of the wire.'
  if (!Node.isPropertyDeclaration(node)) return ''
  const type = node.getType().getSymbol()?.getDeclarations().find(Node.isClassDeclaration)
  return type === undefined || type.getSourceFile() === node.getSourceFile()
    ? ''
    : firstSentence(textOf(type, type.getName() ?? ''))
}

/** Returns whether api.md has a heading for the schema. api.md must be generated before this page. */
const hasHeading = (schema: string): boolean =>
  new RegExp(`^#+ ${schema}$`, 'm').test(readFileSync(join(root, 'docs/api.md'), 'utf8'))

/** Adds the link to the source. Behind a list, it is a paragraph of its own. */
const withSource = (text: string, node: Node): string =>
  `${text}${/^- /.test(text.split('\n\n').at(-1) ?? '') ? '\n\n' : ' '}([source](../${pathOf(node)}))`

const pathOf = (node: Node): string => relative(root, node.getSourceFile().getFilePath())

const firstSentence = (text: string): string => /^[\s\S]*?\.(?=\s|$)/.exec(text)?.[0] ?? text

const block = (text: string): string => ['```ts', text, '```'].join('\n')
