import { expect, it } from 'vitest'
import { html, joined, prose, sample } from './safe-html.ts'

const HOSTILE = `<script>alert(1)</script><img src=x onerror="alert('2')">&amp;`
const TAMED = '&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;2&#39;)&quot;&gt;&amp;amp;'

it('escapes values alone, in a list and in an attribute', () => {
  expect(html`<p title="${HOSTILE}">${HOSTILE}</p>`.markup).toBe(`<p title="${TAMED}">${TAMED}</p>`)
  expect(html`${[HOSTILE, [HOSTILE]]}`.markup).toBe(TAMED + TAMED)
  expect(prose(HOSTILE).markup).toBe(TAMED)
  expect(sample('shell', HOSTILE, HOSTILE).markup).not.toMatch(/<(script|img)/)
})

it('does not escape its own markup, and renders null as nothing', () => {
  expect(html`<ul>${[1, 2].map(n => html`<li>${n}</li>`)}${null}</ul>`.markup).toBe('<ul><li>1</li><li>2</li></ul>')
})

it('does not accept other objects as markup', () => {
  const forged = JSON.parse('{"text": "<b>"}')
  expect(() => html`${forged}`).toThrow()
})

it('renders backticks as code', () => {
  expect(prose('send `a<b` now').markup).toBe('send <code>a&lt;b</code> now')
})

it('joins parts with a separator', () => {
  expect(html`${joined(['a', html`<b>b</b>`, 'c'], ', ')}`.markup).toBe('a, <b>b</b>, c')
  expect(joined([], ', ')).toEqual([])
})
