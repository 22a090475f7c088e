import { expect, it } from 'vitest'
import { copyText } from './copy-to-clipboard.ts'

it('copies, or rejects with the reason', async () => {
  const copied: string[] = []
  await copyText('lcm_1', { clipboard: { writeText: async text => void copied.push(text) } })
  expect(copied).toEqual(['lcm_1'])
  const clipboard = { writeText: () => Promise.reject(new Error('Write permission denied.')) }
  await expect(copyText('lcm_1', { clipboard })).rejects.toThrow('Write permission denied.')
})

it('explains that a page over plain http has no clipboard', async () => {
  await expect(copyText('lcm_1', {})).rejects.toThrow('Browsers allow copying only over https.')
})
