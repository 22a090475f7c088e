import type { Page } from 'playwright-core'
import { expect, inject, it } from 'vitest'
import { browserTests, screenshot, seriousViolations } from './testing/browser-harness.ts'

const { open, api } = browserTests()

const url = inject('product').url
const linkFor = async () => `${url}${(await api().call('createLoginLink', {})).url}`
const sessionCookies = async (page: Page) =>
  (await page.context().cookies()).filter(({ name }) => name.startsWith('lcm_session'))
const overview = (page: Page) => page.getByRole('heading', { name: 'Overview', level: 1 })

/** A browser that never signed in. */
async function signedOut(address = url): Promise<Page> {
  const { page } = await open({ isFresh: true })
  await page.context().clearCookies()
  await page.goto('about:blank')
  await page.goto(address)
  await page.getByRole('heading', { name: 'Sign in to see the fleet' }).waitFor()
  return page
}

it('a login link signs in after a click, also after a reload, and leaves no code in the address', async () => {
  const page = await signedOut(await linkFor())
  const button = page.getByRole('button', { name: 'Sign in with this link' })
  await button.waitFor()
  expect(await seriousViolations(page)).toEqual([])
  await screenshot(page, 'sign-in-light')
  await page.reload()
  await button.waitFor()
  expect(await sessionCookies(page)).toEqual([])
  await button.click()
  await overview(page).waitFor()
  expect(page.url()).toBe(`${url}/#/overview`)
  expect(await sessionCookies(page)).toMatchObject([{ httpOnly: true, sameSite: 'Strict', secure: false }])
})

it('a link that was used before says so', async () => {
  const link = await linkFor()
  const [first, second] = [await signedOut(link), await signedOut(link)]
  await first.getByRole('button', { name: 'Sign in with this link' }).click()
  await overview(first).waitFor()
  await second.getByRole('button', { name: 'Sign in with this link' }).click()
  await second.getByRole('alert').getByText('This link was used before or has expired.').waitFor()
  expect(await seriousViolations(second)).toEqual([])
})

it('a token is exchanged for a session, and stored nowhere in the page', async () => {
  const page = await signedOut()
  const field = page.getByLabel('Token')
  expect(await field.getAttribute('type')).toBe('password')
  expect(await field.getAttribute('autocomplete')).toBe('current-password')
  await field.fill('lcm_wrong')
  await page.getByRole('button', { name: 'Sign in with a token' }).click()
  await page.getByRole('alert').getByText('LCM does not know this token.').waitFor()
  const { token } = inject('product')
  await field.fill(token)
  await page.keyboard.press('Enter')
  await overview(page).waitFor()
  const stored = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
  )
  expect(stored).not.toContain(token)
  expect(await page.content()).not.toContain(token)
})

it('a failed sign-in with an account says why', async () => {
  const page = await signedOut(`${url}/#/sign-in?failed=forbidden`)
  await page.getByRole('alert').getByText('Your account has no role in LCM.').waitFor()
})
