/** Signs in on the owner's page as a person does. */
import type { Page } from 'playwright-core'
import { ownerName, ownerPassword } from '../support/owner.ts'

/** Signs in over the given address, or over the address of the sign-in. */
export async function signIn(page: Page, url: string, path = '/sign-in'): Promise<void> {
  await page.goto(`${url}${path}`)
  await page.getByLabel('Name').fill(ownerName)
  await page.getByLabel('Password').fill(ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}
