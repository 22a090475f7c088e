import { describe, expect, it } from 'vitest'
import { cut, drawingOf, LABEL_CHARS_MAX, pathOf } from './graph-layout.ts'
import { fitted, SCALE_MAX, viewByKey, zoomed } from './graph-viewport.ts'

const node = (id: string, label = id) => ({ id, label, node_definition: 'iol-xe' })
const link = (a: string, b: string) => ({ a, b, label: `${a}-${b}` })

describe('a drawing', () => {
  it('separates all nodes and draws every link, including parallel links and loops', () => {
    const graph = {
      nodes: ['r1', 'r2', 'r3', 'alone'].map(id => node(id)),
      links: [link('r1', 'r2'), link('r1', 'r2'), link('r2', 'r3'), link('r3', 'r3')],
    }
    const { nodes, links, width, height } = drawingOf(graph)
    for (const one of nodes) {
      expect(one.x).toBeGreaterThan(0)
      expect([one.x < width, one.y < height]).toEqual([true, true])
      for (const other of nodes.filter(each => each !== one)) {
        const isApart =
          Math.abs(one.x - other.x) >= (one.width + other.width) / 2 ||
          Math.abs(one.y - other.y) >= (one.height + other.height) / 2
        expect([one.id, other.id, isApart]).toEqual([one.id, other.id, true])
      }
    }
    expect(new Set(links.map(({ key }) => key)).size).toBe(4)
    for (const { points } of links) expect(points.length).toBeGreaterThan(1)
    expect(drawingOf(graph)).toEqual(drawingOf(graph))
  })

  it('accepts any id that a lab may have', () => {
    for (const odd of ['__proto__', 'constructor', 'a\u0001b']) {
      const { nodes, links } = drawingOf({
        nodes: [node(odd), node('r2')],
        links: [link(odd, 'r2'), link(odd, odd)],
      })
      expect(nodes.map(({ id }) => id)).toEqual([odd, 'r2'])
      expect(links.every(({ points }) => points.length > 1)).toBe(true)
      expect(({} as { r2?: unknown }).r2).toBeUndefined()
    }
  })

  it('is empty for an empty lab', () => {
    expect(drawingOf({ nodes: [], links: [] })).toMatchObject({ nodes: [], links: [] })
  })

  it('uses rows for graphs with too many links, with neighbors close together', () => {
    const ids = Array.from({ length: 300 }, (_, index) => `n${index}`)
    const far = ids.map((id, index) => link(id, ids[(index * 7) % 300] ?? id))
    const links = [link('n0', 'n299'), ...Array.from({ length: 6 }, () => far).flat()]
    const { nodes, width, height } = drawingOf({ nodes: ids.map(id => node(id)), links })
    expect(nodes.map(({ id }) => id).slice(0, 2)).toEqual(['n0', 'n299'])
    expect(new Set(nodes.map(({ x, y }) => `${x} ${y}`)).size).toBe(300)
    expect(nodes.every(({ x, y }) => x < width && y < height)).toBe(true)
    expect(width / height).toBeGreaterThan(1)
  })

  it('stays readable for a hub, for isolated nodes and for a long chain', () => {
    const ids = Array.from({ length: 100 }, (_, index) => `n${index}`)
    const shapes = [ids.map(id => link('hub', id)), [], ids.slice(1).map((id, index) => link(ids[index] ?? id, id))]
    for (const links of shapes) {
      const { nodes, width, height } = drawingOf({ nodes: ['hub', ...ids].map(id => node(id)), links })
      expect(nodes).toHaveLength(101)
      expect(width / height).toBeLessThan(4)
      expect(height / width).toBeLessThan(4)
    }
    const small = ids.slice(0, 6).map(id => node(id))
    expect(new Set(drawingOf({ nodes: small, links: [] }).nodes.map(({ y }) => y)).size).toBe(1)
  })

  it('fits double-width letters, and never splits one', () => {
    const [wide, narrow] = ['核心路由器交换机甲', 'abcdefghi'].map(label => node('r1', label))
    const widthOf = (drawn = wide) => drawingOf({ nodes: drawn ? [drawn] : [], links: [] }).nodes[0]?.width ?? 0
    expect(widthOf(wide)).toBeGreaterThan(1.5 * widthOf(narrow))
    expect(cut('器'.repeat(LABEL_CHARS_MAX)).length).toBeLessThan(LABEL_CHARS_MAX / 2 + 1)
    expect(cut(`x${'🛰'.repeat(40)}`)).toMatch(/^x(🛰)+…$/u)
  })

  it('shortens long labels, and joins points by a line', () => {
    expect(cut('short')).toBe('short')
    expect(cut('x'.repeat(100))).toHaveLength(LABEL_CHARS_MAX)
    const [a, b, c] = [
      { x: 0, y: 0 },
      { x: 10, y: 0 },
      { x: 10, y: 10 },
    ]
    expect(pathOf([a, b, c])).toBe('M0 0Q10 0 10 5L10 10')
    expect(pathOf([a, c])).toBe('M0 0L10 10')
    expect(pathOf([])).toBe('')
  })
})

describe('a view', () => {
  const box = { width: 400, height: 300 }
  const fit = fitted({ width: 800, height: 200 }, box)

  it('fits the whole lab at first, without enlarging small labs', () => {
    expect(fit.scale).toBeCloseTo(0.47)
    expect(fit.y).toBeCloseTo((300 - 200 * fit.scale) / 2)
    expect(fitted({ width: 10, height: 10 }, box).scale).toBe(1.15)
    expect(fitted({ width: 0, height: 0 }, { width: 0, height: 0 }).scale).toBe(1)
  })

  it('zooms around the pointer, within limits', () => {
    const at = { x: 100, y: 50 }
    const near = zoomed(fit, 2, at, fit.scale)
    const under = (view: typeof fit) => ({ x: (at.x - view.x) / view.scale, y: (at.y - view.y) / view.scale })
    expect(under(near).x).toBeCloseTo(under(fit).x)
    expect(under(near).y).toBeCloseTo(under(fit).y)
    expect(zoomed(fit, 100, at, fit.scale).scale).toBe(SCALE_MAX)
    expect(zoomed(fit, 0.001, at, fit.scale).scale).toBeCloseTo(fit.scale / 2)
  })

  it('follows the keys', () => {
    const by = (key: string) => viewByKey(key, fit, box, fit)
    expect(by('ArrowRight')?.x).toBe(fit.x - 48)
    expect(by('ArrowUp')?.y).toBe(fit.y + 48)
    expect(by('+')?.scale).toBeCloseTo(fit.scale * 1.25)
    expect(by('-')?.scale).toBeCloseTo(fit.scale / 1.25)
    expect(viewByKey('0', { x: 1, y: 2, scale: 3 }, box, fit)).toBe(fit)
    expect(by('Tab')).toBeNull()
  })
})
