import { expect, it } from 'vitest'
import { closingAfter } from './close-in-reverse-order.ts'

it('closes everything in reverse order even when the work or a close fails, and throws the first error', async () => {
  const closed: string[] = []
  const open = (onClose: (close: () => unknown) => void) => {
    onClose(() => closed.push('lock'))
    onClose(async () => {
      closed.push('store')
      throw new Error('the disk is full')
    })
    onClose(() => closed.push('server'))
  }
  await expect(closingAfter(async onClose => open(onClose))).rejects.toThrow('the disk is full')
  expect(closed.splice(0)).toEqual(['server', 'store', 'lock'])
  const failing = closingAfter(async onClose => {
    open(onClose)
    throw new Error('the port is taken')
  })
  await expect(failing).rejects.toThrow('the port is taken')
  expect(closed).toEqual(['server', 'store', 'lock'])
})
