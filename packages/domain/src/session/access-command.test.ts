import { expect, it } from 'vitest'
import { accessLine } from './access-command.ts'

it.each([
  ['serial', null, 'telnet 10.0.0.1 2001'],
  ['vnc', null, 'vnc://10.0.0.1:2001'],
  ['tcp', 22, 'ssh 10.0.0.1 -p 2001'],
  ['tcp', 23, 'telnet 10.0.0.1 2001'],
  ['tcp', 80, 'http://10.0.0.1:2001'],
  ['tcp', 443, 'https://10.0.0.1:2001'],
  ['tcp', 830, '10.0.0.1:2001'],
  ['tcp', null, '10.0.0.1:2001'],
  ['udp', 22, '10.0.0.1:2001'],
])('%s %j: %s', (protocol, inside, line) => {
  expect(accessLine({ name: 'r1', node: 'r1', protocol, inside, host: '10.0.0.1', port: 2001 })).toBe(line)
})
