import { describe, expect, it } from 'vitest'
import { openApi } from '../openapi/document.ts'
import { tagsOf } from '../openapi/tags.ts'
import { PROBLEMS } from '../problem-codes.ts'
import { ProblemError } from '../problems.ts'
import { EVERYONE } from '../route-spec.ts'
import { ROUTES, type RouteSpec } from '../routes.ts'
import { allowedCallers } from './operation-sections.ts'
import { API_DOCS_PATHS, apiDocsPage } from './page.ts'

const page = apiDocsPage('1.2.3')
const routes = Object.entries<RouteSpec>(ROUTES)
const idsIn = (markup: string) => [...markup.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id)
const ids = idsIn(page.html)

describe('the page', () => {
  it('has every operation with its path, in the section of its tag', () => {
    for (const [name, { path }] of routes) {
      const [, section = ''] = page.html.split(`<section id="tag-${path.split('/')[1]}">`)
      expect(section.split('</section>')[0]).toContain(`id="op-${name}"`)
    }
    expect(ids.filter(id => id.startsWith('tag-'))).toEqual(tagsOf(Object.values(ROUTES)).map(tag => `tag-${tag}`))
  })

  it('explains every problem at the link of its type', () => {
    for (const code of Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[]) {
      const { type } = new ProblemError(code, '').toProblem('/')
      expect(type).toBe(`${API_DOCS_PATHS.html}#${code}`)
      expect(ids).toContain(code)
    }
  })

  it('shows every type of event', () => {
    const [, section = ''] = page.html.split('<section id="event-types">')
    const envelope = openApi('0').components.schemas.EventEnvelope
    const types = (envelope?.anyOf ?? []).flatMap(
      ({ properties }) => properties?.type?.enum ?? [properties?.type?.const],
    )
    expect(types).toContain('heartbeat')
    for (const type of types) expect(section).toContain(`<dt><code>${type}</code></dt>`)
  })

  it('begins with a first call', () => {
    expect(page.html).toContain('.lcm/admin-token')
    expect(page.html).toContain('Idempotency-Key: my-first-worker')
    expect(page.html).toContain('curl -N')
    expect(page.html.indexOf('id="first-call"')).toBeLessThan(page.html.indexOf('id="conventions"'))
  })

  it('has unique ids, and links only to existing ones', () => {
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
    const links = [...page.html.matchAll(/ href="#([^"]*)"/g)].map(([, id = '']) => id)
    expect([...new Set(links)].filter(id => !ids.includes(id))).toEqual([])
  })

  it('has no inline style or script, and loads nothing from other hosts', () => {
    expect(page.html.match(/<script[^>]*>/g)).toEqual([`<script src="${API_DOCS_PATHS.script}" defer>`])
    expect(page.html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/i)
    expect([...page.html.matchAll(/(?:src|href)="([^"]*)"/g)].filter(([, at = '']) => !/^[/#]/.test(at))).toEqual([])
    expect(page.css).not.toMatch(/@import|url\(/)
  })

  it('has a small script that parses', () => {
    expect(() => new Function(page.script)).not.toThrow()
    expect(page.script.split('\n').length).toBeLessThan(100)
    for (const [, id = ''] of page.script.matchAll(/getElementById\('([\w-]+)'\)/g)) expect(ids).toContain(id)
  })

  it('closes every tag', () => {
    const open: string[] = []
    for (const [, slash, tag = ''] of page.html.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
      if (['meta', 'link', 'input'].includes(tag)) continue
      if (slash === '') open.push(tag)
      else expect(open.pop()).toBe(tag)
    }
    expect(open).toEqual([])
  })
})

it('escapes hostile texts everywhere', () => {
  const hostile = `<script>alert(1)</script>" onload="x`
  const route: RouteSpec = {
    method: 'GET',
    path: `/${hostile}`,
    summary: hostile,
    description: hostile,
    access: EVERYONE,
    status: 200,
    answer: null,
    problems: [],
  }
  const { html } = apiDocsPage(hostile, { [hostile]: route })
  expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x')
  expect(html).not.toContain('<script>alert')
  expect(html).not.toContain('" onload="')
})

it.each<[RouteSpec['access'], string]>([
  ['open', 'everyone, without a token'],
  [EVERYONE, 'all roles'],
  [{ roles: ['admin', 'operator'] }, 'admin, operator'],
  [{ roles: ['admin'], controller: 'lablet-controller' }, 'admin, the lablet-controller'],
  [{ controllersOf: 'worker-controller' }, 'the worker-controller'],
  [{ controllersOf: ['worker-controller', 'lablet-controller'] }, 'the worker-controller and the lablet-controller'],
  [{ controllersOf: 'any' }, 'all controllers, each for its own service'],
])('shows the callers of %j', (access, expected) => {
  expect(allowedCallers(access)).toBe(expected)
})
