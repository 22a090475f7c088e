import { StoreError } from '@lcm/store/store'
import { expect, it } from 'vitest'
import { StartupError } from './startup-error.ts'
import { prepared } from './stores.ts'

const refusing = (error: Error) => prepared(() => Promise.reject(error)).catch((reason: unknown) => reason)

it('says what to do when the store refuses what a start has to write, as on a full disk', async () => {
  const full = new StoreError('the store refused a write: disk is full', { advice: 'make room, then try again' })
  const error = await refusing(full)
  expect(error).toBeInstanceOf(StartupError)
  expect(error).toMatchObject({ message: 'make room, then try again', cause: full })
  expect(await refusing(new StoreError('it was no use'))).toMatchObject({
    name: 'StartupError',
    message: 'it was no use',
  })
})

it('leaves a defect what it is', async () => {
  const defect = new TypeError('oops')
  expect(await refusing(defect)).toBe(defect)
})
