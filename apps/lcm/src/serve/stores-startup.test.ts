import { StoreError } from '@lcm/store/store'
import { expect, it } from 'vitest'
import { StartupError } from './startup-error.ts'
import { prepared } from './stores.ts'

const refusing = (error: Error) => prepared(() => Promise.reject(error)).catch((reason: unknown) => reason)

it('gives advice when the store refuses the writes of a start, as on a full disk', async () => {
  const full = new StoreError('the store refused a write: disk is full', { advice: 'free disk space, then try again' })
  const error = await refusing(full)
  expect(error).toBeInstanceOf(StartupError)
  expect(error).toMatchObject({ message: 'free disk space, then try again', cause: full })
  expect(await refusing(new StoreError('it was no use'))).toMatchObject({
    name: 'StartupError',
    message: 'it was no use',
  })
})

it('rethrows an unexpected error unchanged', async () => {
  const defect = new TypeError('oops')
  expect(await refusing(defect)).toBe(defect)
})
