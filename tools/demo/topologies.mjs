// Example labs in the export format of CML.

/** Layers of node labels, top to bottom, with the kind of node of each. */
const CAMPUS = [
  ['iosxrv9000', ['internet']],
  ['iol-xe', ['core-1', 'core-2']],
  ['iol-xe', ['dist-1', 'dist-2', 'dist-3']],
  ['ioll2-xe', ['access-1', 'access-2', 'access-3']],
  ['alpine', ['client', 'printer', 'server']],
]
const LEAF_SPINE = [
  ['nxosv9000', ['spine-1', 'spine-2']],
  ['nxosv9000', ['leaf-1', 'leaf-2', 'leaf-3', 'leaf-4']],
  ['alpine', ['web', 'app', 'db', 'backup']],
]

export const campus = () =>
  topology('Campus', CAMPUS, { 'core-1': 'serial:5000', client: 'vnc:5100', server: 'pat:8443:443' })
export const leafSpine = () => topology('Leaf and spine', LEAF_SPINE, { 'spine-1': 'serial:5000', web: 'pat:8080:80' })

function topology(title, layers, tags) {
  const nodes = layers.flatMap(([kind, labels]) => labels.map(label => ({ kind, label })))
  const ports = new Map(nodes.map(({ label }) => [label, 0]))
  const endOf = label => {
    const port = ports.get(label)
    ports.set(label, port + 1)
    return { node: `n${nodes.findIndex(node => node.label === label)}`, port: `i${port}` }
  }
  const links = linksOf(layers).map(([from, to], index) => {
    const [a, b] = [endOf(from), endOf(to)]
    return `  - {id: l${index}, n1: ${a.node}, i1: ${a.port}, n2: ${b.node}, i2: ${b.port}}`
  })
  const nodeLines = nodes.map(({ kind, label }, index) =>
    nodeText({ kind, label, index, tag: tags[label], count: ports.get(label) }),
  )
  return ['lab:', '  version: 0.3.0', `  title: ${title}`, 'nodes:', ...nodeLines, 'links:', ...links, ''].join('\n')
}

/** Links a wide layer to all nodes of a narrower one above, and equal layers node by node. */
function linksOf(layers) {
  const labels = layers.map(([, each]) => each)
  return labels.slice(1).flatMap((lower, n) => {
    const upper = labels[n]
    return upper.length === lower.length
      ? lower.map((label, index) => [upper[index], label])
      : upper.flatMap(from => lower.map(to => [from, to]))
  })
}

function nodeText({ kind, label, index, tag, count }) {
  const ports = Array.from({ length: count }, (_, n) => `{id: i${n}, type: physical, label: Ethernet0/${n}}`)
  const lines = [`  - id: n${index}`, `    label: ${label}`, `    node_definition: ${kind}`, '    x: 0', '    y: 0']
  return [...lines, `    interfaces: [${ports.join(', ')}]`, ...(tag ? [`    tags: ["${tag}"]`] : [])].join('\n')
}
