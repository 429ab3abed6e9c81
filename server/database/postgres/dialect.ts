/** How Kysely writes SQL for PostgreSQL. */
import {
  type BinaryOperationNode,
  OperatorNode,
  ParensNode,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawNode,
  type SelectQueryNode,
  type SetOperationNode,
  ValueNode,
} from 'kysely'
import type { StoreDialect } from '../connection.ts'
import { storeDialect } from '../dialect.ts'
import { postgresForm } from '../sql.ts'

/**
 * Writes the second form of the fragments in `sql.ts`, and `=` for an `is` that compares with a value. Each
 * part of a union is in parentheses, so that the part can have its own limit.
 */
class FragmentCompiler extends PostgresQueryCompiler {
  protected override visitRaw(node: RawNode): void {
    super.visitRaw(postgresForm(node))
  }

  protected override visitSelectQuery(node: SelectQueryNode): void {
    const { setOperations, orderBy, limit, ...first } = node
    if (setOperations === undefined) {
      super.visitSelectQuery(node)
      return
    }
    const others = setOperations.map(
      (part): SetOperationNode => ({ ...part, expression: ParensNode.create(part.expression) }),
    )
    this.append('select * from (')
    this.compileList([ParensNode.create(first), ...others], ' ')
    this.append(') as parts ')
    this.compileList(
      [orderBy, limit].filter((end) => end !== undefined),
      ' ',
    )
  }

  protected override visitBinaryOperation(node: BinaryOperationNode): void {
    super.visitBinaryOperation(isEquality(node) ? { ...node, operator: OperatorNode.create('=') } : node)
  }
}

/** PostgreSQL allows `is` only with null and with truth values. */
const isEquality = ({ operator, rightOperand }: BinaryOperationNode): boolean =>
  OperatorNode.is(operator) &&
  operator.operator === 'is' &&
  ValueNode.is(rightOperand) &&
  typeof rightOperand.value === 'string'

/** Compiler for prepared queries. It writes constant values into the SQL text, as that of SQLite does. */
class PreparedCompiler extends FragmentCompiler {
  protected override appendValue(value: unknown): void {
    if (typeof value === 'string' || typeof value === 'number') this.appendImmediateValue(value)
    else super.appendValue(value)
  }
}

export const postgresDialect: StoreDialect = storeDialect('postgres', {
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (db) => new PostgresIntrospector(db),
  compiler: () => new FragmentCompiler(),
  preparedCompiler: () => new PreparedCompiler(),
})
