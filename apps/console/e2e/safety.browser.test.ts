import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { browserTests, visit } from './testing/browser-harness.ts'
import { workerFixtures } from './testing/worker-fixtures.ts'

const { open, api } = browserTests()
const own = workerFixtures(api)
/** A separate product, because other tests leave data behind. */
const HOSTILE = '<img src=x onerror=alert(2)>'
const CONSOLE = 'dist/console'
const BUNDLE_KB_MAX = 300
const PAGES = [
  'overview',
  'workers',
  'sessions',
  'definitions',
  'labs',
  'controllers',
  'chaos',
  'people',
  'audit',
  'settings',
]

/** Wherever the API takes any text at all. */
async function hostileThings(): Promise<string[]> {
  const { id } = await own.make(HOSTILE)
  await api().call('patchWorker', { params: { id }, body: { labels: { safety: HOSTILE } } })
  const capacity = { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 100 }
  const machine = { instance_types: ['m5zn.metal'], ami_name_pattern: HOSTILE, ami_owner: 'self' }
  const template = { name: 'safety', description: HOSTILE, ...machine, capacity, cost_per_hour_usd: 4 }
  await api().call('createTemplate', { body: template })
  await own.make('safety-failed', { template_name: 'safety' })
  const topology = readFileSync('examples/labs/two-routers.yaml', 'utf8').replaceAll(
    /(label: r1|title: Two routers|description: a link.*)$/gm,
    line => line.replace(/: .*/, `: '${HOSTILE}'`),
  )
  const body = { name: 'safety', title: HOSTILE, description: HOSTILE, topology }
  const definition = await api().call('createDefinition', { body })
  const booking = { definition: definition.id, duration_minutes: 30, reservation_id: HOSTILE }
  const session = await api().call('createSession', { body: booking })
  await api().call('createToken', { body: { name: HOSTILE, role: 'user' } })
  return [`workers/${id}`, `definitions/${definition.id}`, `sessions/${session.id}`]
}

/** Pages that must show the hostile text: an empty page must not pass. */
const SHOWN_ON = ['workers', 'settings', 'audit']

let things: string[] = []
beforeAll(async () => {
  things = await hostileThings()
})

declare global {
  interface Window {
    reportViolation(text: string): void
  }
}

/** Violations of the content security policy since the page was opened. */
async function violations(page: Page): Promise<() => Promise<string[]>> {
  const found: string[] = []
  await page.exposeFunction('reportViolation', (text: string) => found.push(text))
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      window.reportViolation(`${violatedDirective} ${blockedURI}`)
    })
  })
  return async () => found
}

describe('every page', () => {
  it('shows hostile text as text, keeps the content security policy and contacts only LCM', async () => {
    const { page } = await open({ at: '#/overview', isFresh: true })
    const origins = new Set<string>()
    let dialogs = 0
    page.on('request', request => origins.add(new URL(request.url()).origin))
    page.on('dialog', dialog => {
      dialogs += 1
      void dialog.dismiss()
    })
    const refused = await violations(page)
    for (const name of [...PAGES, ...things]) {
      await visit(page, `${inject('product').url}/#/${name}`)
      if (SHOWN_ON.includes(name)) await page.locator('main').getByText(HOSTILE).first().waitFor()
      if (things.includes(name)) await page.locator('main').getByText(HOSTILE, { exact: false }).first().waitFor()
      expect({ name, images: await page.locator('main img').count() }).toEqual({ name, images: 0 })
    }
    await page.goto(`${inject('product').url}/#/workers`)
    await page.getByRole('button', { name: 'Create worker' }).click()
    await page.getByRole('dialog').getByText(HOSTILE).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: `More actions for ${HOSTILE}` }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Terminate/ })
      .click()
    await page.getByRole('dialog').getByRole('heading').getByText(HOSTILE).waitFor()
    expect([dialogs, await refused(), [...origins]]).toEqual([0, [], [inject('product').url]])
  })
})

describe('served files', () => {
  it('have a strict policy and no inline scripts or styles', async () => {
    const answer = await fetch(inject('product').url)
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'self';/)
    expect(answer.headers.get('content-security-policy')).not.toMatch(/unsafe|https?:|\*/)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    const html = await answer.text()
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|https?:\/\//i)
  })

  it(`is at most ${BUNDLE_KB_MAX} KB, gzipped`, () => {
    const files = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' }).filter(file =>
      /\.(js|css|html)$/.test(file),
    )
    const bytes = files.map(file => gzipSync(readFileSync(join(CONSOLE, file))).length)
    expect(files.length).toBeGreaterThanOrEqual(3)
    expect(bytes.reduce((sum, each) => sum + each, 0) / 1024).toBeLessThanOrEqual(BUNDLE_KB_MAX)
  })
})
