import { expect, it } from 'vitest'
import { parseS3Address } from './object-storage.ts'

it('is a bucket and a key', () => {
  expect(parseS3Address('s3://labs/2026/bgp basics?.zip')).toEqual({ bucket: 'labs', key: '2026/bgp basics?.zip' })
})

it.each([
  's3://labs',
  's3://labs/',
  's3:///key',
  's3://La_bs/key',
  's3://a..b/key',
  `s3://labs/${'x'.repeat(1025)}`,
  's3://labs/../key',
  'https://labs/key',
])('%s is none', address => {
  expect(parseS3Address(address)).toBeNull()
})
