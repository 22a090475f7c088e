import { describe, expect, it } from 'vitest'
import type { LabNode } from './lab.ts'
import { runningConfiguration, withExtracted, withoutTyped, withTyped } from './node-configuration.ts'

const aNode = (start: string | null, node_definition = 'iosv'): LabNode => ({
  ...{ id: 'n', label: 'R 1', node_definition, image_definition: null, x: 0, y: 0, ram: null, cpus: null },
  ...{ cpu_limit: null, data_volume: null, boot_disk_size: null, hide_links: false, tags: [], parameters: {} },
  ...{ interfaces: [], launch_number: 0, timeline: [{ state: 'BOOTED', from_ms: 0 }] },
  files: start === null ? [] : [{ name: 'Main', content: start }],
})
const typed = (node: LabNode, ...lines: readonly string[]) =>
  lines.reduce((before, line) => withTyped(before, line, 1), node)

describe('the running configuration of a node', () => {
  it.each([
    ['nothing', aNode(null), '! running configuration\nhostname R-1\n'],
    [
      'its start configuration',
      aNode('hostname X\nrouter ospf 1\n'),
      '! running configuration\nhostname X\nrouter ospf 1\n',
    ],
    ['the script of a server', aNode('echo hi', 'server'), '# running configuration\nhostname R-1\necho hi\n'],
  ])('comes from %s', (_, node, text) => {
    expect(runningConfiguration(node)).toBe(text)
  })

  it('changes with what is typed, and back', () => {
    const node = typed(aNode('router ospf 1'), 'hostname A', 'ip cef', 'hostname B', 'no router ospf 1', 'ip cef')
    expect(runningConfiguration(node)).toBe('! running configuration\nhostname B\nip cef\n')
    expect(runningConfiguration(withoutTyped(node))).toBe(runningConfiguration(aNode('router ospf 1')))
  })

  it('is the same after it was extracted, wiped and booted, as often as one likes', () => {
    const node = typed(aNode('router ospf 1'), 'hostname A')
    const once = withExtracted(node)
    expect(runningConfiguration(once)).toBe(runningConfiguration(node))
    expect(withoutTyped(withExtracted(once)).files).toEqual([{ name: 'Main', content: runningConfiguration(node) }])
  })

  it('keeps the other files of the node', () => {
    const more = { name: 'license', content: 'x' }
    const node = aNode('ip cef')
    expect(withExtracted({ ...node, files: [...node.files, more] }).files[1]).toEqual(more)
  })
})
