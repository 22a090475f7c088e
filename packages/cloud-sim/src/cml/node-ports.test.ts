import { describe, expect, it } from 'vitest'
import { portsOfTags } from './node-ports.ts'

describe('a tag for the port mapper', () => {
  it.each([
    ['pat:2022:22', 'pat', 2022],
    ['pat:tcp:7999:443', 'pat', 7999],
    ['serial:2001', 'serial', 2001],
    ['serial:2001:1', 'serial', 2001],
    ['vnc:5900', 'vnc', 5900],
  ])('%s opens a port', (tag, kind, port) => {
    expect(portsOfTags([tag])).toEqual([{ kind, port }])
  })

  it.each(['pat:udp:2022:22', 'pat:1999:22', 'pat:8000:22', 'serial:22', 'serial:', 'pat:2022', 'vnc:99999', 'core'])(
    '%s opens none',
    tag => {
      expect(portsOfTags([tag])).toEqual([])
    },
  )
})
