import { expect, it } from 'vitest'
import { recordingLogger } from './recording-logger.ts'

it('records its own lines and those of its children, with the bound fields', () => {
  const logger = recordingLogger()
  logger.info({ a: 1 }, 'one')
  logger.child({ key: 'w-1' }).child({ epoch: 2 }).warn({ a: 3 }, 'two')
  expect(logger.lines).toEqual([
    { level: 'info', message: 'one', fields: { a: 1 } },
    { level: 'warn', message: 'two', fields: { key: 'w-1', epoch: 2, a: 3 } },
  ])
  expect(logger.messages('warn')).toEqual(['two'])
})
