import { expect, it } from 'vitest'
import { accessLine } from './access-line.ts'

const door = (protocol: string, name = 'r1') => ({ name, node: 'r1', protocol, host: '10.0.0.1', port: 2001 })
const inside = (port: number) => [{ name: 'r1', node: 'r1', protocol: 'tcp' as const, inside: port }]

it.each([
  ['serial', [], 'telnet 10.0.0.1 2001'],
  ['vnc', [], 'vnc://10.0.0.1:2001'],
  ['tcp', inside(22), 'ssh 10.0.0.1 -p 2001'],
  ['tcp', inside(443), 'https://10.0.0.1:2001'],
  ['tcp', inside(830), '10.0.0.1:2001'],
  ['tcp', [], '10.0.0.1:2001'],
  ['udp', inside(22), '10.0.0.1:2001'],
] as const)('%s %j: %s', (protocol, ports, line) => {
  expect(accessLine(door(protocol), ports)).toBe(line)
})
