import { readFileSync } from 'node:fs'

/** Small enough for a CML without a license. */
export const TWO_ROUTERS = readFileSync('examples/labs/two-routers.yaml', 'utf8')

const KINDS = {
  'core-1': 'iol-xe',
  'core-2': 'iol-xe',
  'dist-1': 'iol-xe',
  'dist-2': 'iol-xe',
  'access-1': 'ioll2-xe',
  'access-2': 'ioll2-xe',
  client: 'alpine',
  server: 'alpine',
} as const
type Label = keyof typeof KINDS
const LINKS: readonly (readonly [Label, Label])[] = [
  ['core-1', 'core-2'],
  ['core-1', 'dist-1'],
  ['core-1', 'dist-2'],
  ['core-2', 'dist-1'],
  ['core-2', 'dist-2'],
  ['dist-1', 'access-1'],
  ['dist-2', 'access-2'],
  ['access-1', 'client'],
  ['access-2', 'server'],
]
const TAGS: Readonly<Partial<Record<Label, string>>> = { 'core-1': 'serial:5000', client: 'vnc:5100' }

const nodeLines = (label: string, index: number): string => {
  const tag = TAGS[label as Label]
  const ports = [0, 1, 2].map(n => `{id: i${n}, type: physical, label: Ethernet0/${n}}`).join(', ')
  return [
    `  - id: n${index}`,
    `    label: ${label}`,
    `    node_definition: ${KINDS[label as Label]}`,
    `    x: ${index * 100}`,
    '    y: 0',
    `    interfaces: [${ports}]`,
    ...(tag === undefined ? [] : [`    tags: ["${tag}"]`]),
  ].join('\n')
}

const LABELS = Object.keys(KINDS)
const used = new Map<string, number>()
const endOf = (label: Label): { node: string; port: string } => {
  const port = used.get(label) ?? 0
  used.set(label, port + 1)
  return { node: `n${LABELS.indexOf(label)}`, port: `i${port}` }
}
const linkLine = ([from, to]: readonly [Label, Label], index: number): string => {
  const [a, b] = [endOf(from), endOf(to)]
  return `  - {id: l${index}, n1: ${a.node}, i1: ${a.port}, n2: ${b.node}, i2: ${b.port}}`
}

/** Eight nodes in four layers, as CML exports them. */
export const CAMPUS = [
  'lab:',
  '  version: 0.3.0',
  '  title: Campus',
  'nodes:',
  ...LABELS.map(nodeLines),
  'links:',
  ...LINKS.map(linkLine),
  '',
].join('\n')
