import dagre from '@dagrejs/dagre'
import type { LabGraph } from '@lcm/contract/definition'

export interface Point {
  readonly x: number
  readonly y: number
}

export interface DrawnNode extends Point {
  readonly id: string
  readonly label: string
  readonly node_definition: string
  /** Around the point. */
  readonly width: number
  readonly height: number
}

export interface DrawnLink {
  readonly key: string
  readonly label: string
  /** From one node's edge to the other's. */
  readonly points: readonly Point[]
}

export interface Drawing {
  readonly width: number
  readonly height: number
  readonly nodes: readonly DrawnNode[]
  readonly links: readonly DrawnLink[]
}

const NODE_HEIGHT = 46
const NODE_WIDTH_MIN = 96
const NODE_WIDTH_MAX = 190
const CHAR_WIDTH = 7.4
const PADDING = 26
const MARGIN = 16

/** Labels longer than this are cut where they are drawn. */
export const LABEL_CHARS_MAX = Math.floor((NODE_WIDTH_MAX - PADDING) / CHAR_WIDTH)

/** Letters that are about twice as wide as others. */
const WIDE = /\p{sc=Han}|\p{sc=Hira}|\p{sc=Kana}|\p{sc=Hang}|\p{Extended_Pictographic}|[\uff01-\uff60]/u

const charsIn = (text: string): number => [...text].reduce((sum, char) => sum + (WIDE.test(char) ? 2 : 1), 0)

export function cut(text: string): string {
  if (charsIn(text) <= LABEL_CHARS_MAX) return text
  const kept = [...text]
  while (charsIn(kept.join('')) >= LABEL_CHARS_MAX) kept.pop()
  return `${kept.join('')}…`
}

const widthOf = (text: string): number =>
  Math.min(NODE_WIDTH_MAX, Math.max(NODE_WIDTH_MIN, charsIn(text) * CHAR_WIDTH + PADDING))

/** Beyond, finding good layers takes seconds in which the page stands still. */
const LAYERED_LINKS_MAX = 160

/** So much smaller layers may be shown than rows. */
const SMALLER_MAX = 3

/** The same lab is drawn the same way. Many leaves of one hub, or a long chain, would be a strip in layers. */
export function drawingOf(graph: LabGraph): Drawing {
  const grid = gridOf(graph)
  if (graph.links.length > LAYERED_LINKS_MAX) return grid
  const layers = layersOf(graph)
  return reachOf(layers) > SMALLER_MAX * reachOf(grid) ? grid : layers
}

/** Size that limits the scale on a screen. */
const reachOf = ({ width, height }: Drawing): number => Math.max(width / SCREEN_RATIO, height)

/** Nodes in layers, with few crossings. Its maker keeps them by name in plain objects, where an id such as `__proto__` does harm. */
function layersOf({ nodes, links }: LabGraph): Drawing {
  const graph = new dagre.graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'TB', nodesep: 36, ranksep: 64, edgesep: 18, marginx: MARGIN, marginy: MARGIN })
  const names = new Map(nodes.map(({ id }, index) => [id, `node ${index}`]))
  const nameOf = (id: string): string => names.get(id) ?? ''
  for (const { id, label, node_definition } of nodes) {
    const width = Math.max(widthOf(label), widthOf(node_definition))
    graph.setNode(nameOf(id), { width, height: NODE_HEIGHT })
  }
  for (const [index, { a, b }] of links.entries()) graph.setEdge(nameOf(a), nameOf(b), {}, keyOf(index))
  dagre.layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  return {
    width,
    height,
    nodes: nodes.map(node => ({ ...node, ...placeOf(graph.node(nameOf(node.id))) })),
    links: links.map(({ a, b, label }, index) => {
      const { points = [] } = graph.edge(nameOf(a), nameOf(b), keyOf(index)) as { points?: Point[] }
      return { key: keyOf(index), label, points: points.map(({ x, y }) => ({ x, y })) }
    }),
  }
}

const GRID_GAP = 40
/** Screens are wider than high. */
const SCREEN_RATIO = 1.6

/** Nodes in rows, neighbors near each other, with straight links from middle to middle. */
function gridOf({ nodes, links }: LabGraph): Drawing {
  const columns = Math.max(1, Math.ceil(Math.sqrt(nodes.length * SCREEN_RATIO * (NODE_HEIGHT / NODE_WIDTH_MAX))))
  const cell = { width: NODE_WIDTH_MAX + GRID_GAP, height: NODE_HEIGHT + GRID_GAP }
  const places = new Map<string, DrawnNode>()
  for (const [index, node] of neighborsNear({ nodes, links }).entries()) {
    const [row, column] = [Math.floor(index / columns), index % columns]
    const width = Math.max(widthOf(node.label), widthOf(node.node_definition))
    const at = { x: MARGIN + (column + 0.5) * cell.width, y: MARGIN + (row + 0.5) * cell.height }
    places.set(node.id, { ...node, ...at, width, height: NODE_HEIGHT })
  }
  const pointOf = (id: string): Point => {
    const { x, y } = places.get(id) ?? { x: 0, y: 0 }
    return { x, y }
  }
  return {
    width: 2 * MARGIN + Math.min(columns, nodes.length) * cell.width,
    height: 2 * MARGIN + Math.ceil(nodes.length / columns) * cell.height,
    nodes: [...places.values()],
    links: links.map(({ a, b, label }, index) => ({ key: keyOf(index), label, points: [pointOf(a), pointOf(b)] })),
  }
}

/** Each node soon after one that it is joined with. */
function neighborsNear({ nodes, links }: LabGraph): LabGraph['nodes'] {
  const joined = new Map<string, string[]>(nodes.map(({ id }) => [id, []]))
  for (const { a, b } of links) {
    joined.get(a)?.push(b)
    joined.get(b)?.push(a)
  }
  const seen = new Set<string>()
  for (const { id } of nodes) {
    seen.add(id)
    // A set that grows is walked to its end, so that neighbors of neighbors follow.
    for (const next of seen) for (const neighbor of joined.get(next) ?? []) seen.add(neighbor)
  }
  const byId = new Map(nodes.map(node => [node.id, node]))
  return [...seen].flatMap(id => byId.get(id) ?? [])
}

const keyOf = (index: number): string => `link ${index}`

const placeOf = ({ x = 0, y = 0, width = 0, height = 0 }: Partial<Point & { width: number; height: number }>) => ({
  x,
  y,
  width,
  height,
})

/** A line through all points, rounded at those between. */
export function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points
  if (first === undefined) return ''
  const last = rest.at(-1)
  const curves = rest.slice(0, -1).map((corner, index) => {
    const next = rest[index + 1] ?? corner
    return `Q${corner.x} ${corner.y} ${(corner.x + next.x) / 2} ${(corner.y + next.y) / 2}`
  })
  return [`M${first.x} ${first.y}`, ...curves, ...(last === undefined ? [] : [`L${last.x} ${last.y}`])].join('')
}
