import { readFileSync } from 'node:fs'
import { mayCall } from '@lcm/contract/route-spec'
import { API_PREFIX, ROUTES } from '@lcm/contract/routes'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { browserTests, clientOf, type Role, visit } from './testing/browser-harness.ts'
import { workerFixtures } from './testing/worker-fixtures.ts'

const { open, api } = browserTests()
const own = workerFixtures(api)
const PAGES = [
  'overview',
  'workers?q=roles-',
  'sessions',
  'definitions',
  'labs',
  'controllers',
  'chaos',
  'people',
  'audit',
  'settings',
]

let workerId = ''
let definitionId = ''
beforeAll(async () => {
  workerId = (await own.serving('roles-one')).id
  const topology = readFileSync('examples/labs/two-routers.yaml', 'utf8')
  definitionId = (await api().call('createDefinition', { body: { name: 'roles', topology } })).id
})

interface SentRequest {
  readonly method: string
  readonly path: string
}

/** Notes what the page requests for and is refused, and what it would change, which never reaches the product. */
async function observed(page: Page): Promise<{ refused: string[]; changes: SentRequest[] }> {
  const refused: string[] = []
  const changes: SentRequest[] = []
  page.on('response', response => {
    const isRefused = [401, 403].includes(response.status())
    if (isRefused) refused.push(`${response.request().method()} ${new URL(response.url()).pathname}`)
  })
  const problem = { type: 'about:blank', title: 'No', status: 409, code: 'conflict', detail: 'not in this test' }
  await page.route(`**${API_PREFIX}/**`, route => {
    const request = route.request()
    if (request.method() === 'GET') return route.continue()
    changes.push({ method: request.method(), path: new URL(request.url()).pathname.slice(API_PREFIX.length) })
    return route.fulfill({ status: 409, contentType: 'application/problem+json', body: JSON.stringify(problem) })
  })
  return { refused, changes }
}

/** Presses whatever can be pressed on the page, and whatever menus then offer. Dialogs are closed again. Answers how much it was. */
const pressEverything = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    // Filters and sorting send no requests.
    const PRESSABLE = 'button:not(:disabled, [aria-disabled=true], [aria-pressed], search *, th *)'
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
    const drawn = () => frame().then(frame)
    const closeAll = async () => {
      for (const dialog of document.querySelectorAll<HTMLDialogElement>('dialog[open]')) dialog.close()
      await drawn()
    }
    const itemsOf = () => [...document.querySelectorAll<HTMLElement>(`dialog.menu ${PRESSABLE}`)]
    let pressed = 0
    const press = async (element: HTMLElement | undefined) => {
      if (!element?.isConnected) return
      pressed += 1
      element.click()
      await drawn()
    }
    for (const button of document.querySelectorAll<HTMLElement>(`main ${PRESSABLE}`)) {
      await press(button)
      for (const n of itemsOf().keys()) {
        if (itemsOf().length === 0) await press(button)
        await press(itemsOf()[n])
        await closeAll()
      }
      await closeAll()
    }
    return pressed
  })

const patternOf = (path: string) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
const refusedBy = (role: Role, request: SentRequest): boolean => {
  const spec = Object.values(ROUTES).find(
    each => each.method === request.method && patternOf(each.path).test(request.path),
  )
  return spec === undefined || !mayCall({ id: 'x', name: 'x', role, service: null }, spec.access)
}

describe.each(['operator', 'author', 'user'] as const)('for the role %s', role => {
  it('no page reads, shows or offers what the API refuses', async () => {
    const { secret } = await api().call('createToken', { body: { name: `roles-${role}`, role } })
    const product = { url: inject('product').url, token: secret }
    const session = await clientOf(product).call('createSession', {
      body: { definition: 'roles', duration_minutes: 30 },
    })
    const { page } = await open({ product })
    const { refused, changes } = await observed(page)
    const things = [`workers/${workerId}`, `definitions/${definitionId}`, `sessions/${session.id}`]
    let pressed = 0
    for (const at of [...PAGES, ...things]) {
      await visit(page, `${product.url}/#/${at}`)
      pressed += await pressEverything(page)
    }
    expect({ refused, offered: changes.filter(request => refusedBy(role, request)) }).toEqual({
      refused: [],
      offered: [],
    })
    expect(pressed).toBeGreaterThan(PAGES.length)
    const hasChanged = (path: RegExp) => changes.some(request => path.test(request.path))
    expect(hasChanged(/^\/workers\//)).toBe(role === 'operator')
    const offered = await page.getByRole('navigation').getByRole('link').allTextContents()
    expect(offered.includes('Audit')).toBe(role === 'operator')
    expect(offered).not.toContain('Chaos')
    await clientOf(product).call('cancelSession', { params: { id: session.id } })
  })
})
