import { closeSync, openSync } from 'node:fs'
import { expect, it } from 'vitest'
import { pinoLogger } from './pino-logger.ts'

const recorded = (level: 'debug' | 'warn') => {
  const lines: string[] = []
  return { lines, log: pinoLogger({ level, to: { write: line => void lines.push(line) } }) }
}

it('writes one line of JSON each, with the bound fields', () => {
  const { lines, log } = recorded('debug')
  log.child({ service: 'worker-controller' }).info({ key: 'w-1', err: new Error('no') }, 'done')
  expect(lines.map(line => JSON.parse(line))).toMatchObject([
    { service: 'worker-controller', key: 'w-1', err: { message: 'no' }, msg: 'done' },
  ])
})

it('writes nothing below its level', () => {
  const { lines, log } = recorded('warn')
  log.info({}, 'nothing to see')
  expect(lines).toEqual([])
})

it('redacts secrets', () => {
  const { lines, log } = recorded('debug')
  log.warn(
    { token: 's3cret', headers: { authorization: 'Bearer s3cret', cookie: 's3cret' }, form: { password: 's3cret' } },
    'oops',
  )
  expect(lines.join()).not.toContain('s3cret')
  expect(lines.join()).toContain('[hidden]')
})

it.runIf(process.platform === 'linux')('does not throw when the disk of the log is full', () => {
  const full = openSync('/dev/full', 'w')
  const log = pinoLogger({ level: 'debug', to: full })
  expect(() => log.warn({}, 'lost')).not.toThrow()
  expect(() => log.warn({}, 'lost as well')).not.toThrow()
  closeSync(full)
})
