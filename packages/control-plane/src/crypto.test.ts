import { seededRandom } from '@lcm/testkit/seeded-random'
import { describe, expect, it } from 'vitest'
import { sealing } from './crypto.ts'

const random = seededRandom(3)
const KEY = random.bytes(32)
const randomBytes = (size: number) => random.bytes(size)
const ours = sealing(KEY, 'secrets', randomBytes)

describe('a sealed secret', () => {
  it('opens under its key and for its purpose', () => {
    for (const text of ['', 'token', 'naïve 😀', 'x'.repeat(16_384)]) {
      expect(ours.open(ours.seal(text, 'license:w-1'), 'license:w-1')).toBe(text)
    }
  })

  it('can’t be opened with another key, for another purpose, or after a modification', () => {
    const sealed = ours.seal('token', 'license:w-1')
    expect(sealing(random.bytes(32), 'secrets', randomBytes).open(sealed, 'license:w-1')).toBeNull()
    expect(ours.open(sealed, 'license:w-2')).toBeNull()
    for (let at = 0; at < sealed.length; at += 1) {
      const other = sealed[at] === 'A' ? 'B' : 'A'
      const opened = ours.open(sealed.slice(0, at) + other + sealed.slice(at + 1), 'license:w-1')
      expect(opened === null || opened === 'token', `changed at ${at}`).toBe(true)
    }
    for (const rubbish of ['', 'x', '!!!', sealed.slice(0, 20)]) expect(ours.open(rubbish, 'license:w-1')).toBeNull()
  })

  it('is different each time and does not show its text', () => {
    const sealed = ours.seal('very-secret', 'p')
    expect(ours.seal('very-secret', 'p')).not.toBe(sealed)
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('very-secret')
  })
})
