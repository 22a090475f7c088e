import { expect, it } from 'vitest'
import { formatLogLine, pinoLogger } from './pino-logger.ts'

it('prints time, level, service, key and error on one line, without the stack', () => {
  const lines: string[] = []
  const log = pinoLogger({ level: 'info', to: { write: json => void lines.push(formatLogLine(json)) } })
  log.child({ service: 'lab-scan' }).warn({ key: 'w-1', err: new Error('ECONNREFUSED') }, 'reconcile failed')
  log.info({}, 'up')
  expect(lines).toEqual([
    expect.stringMatching(/^\d\d:\d\d:\d\d {2}warning {2}lab-scan w-1: reconcile failed: ECONNREFUSED$/),
    expect.stringMatching(/^\d\d:\d\d:\d\d {2}info {2}up$/),
  ])
})
