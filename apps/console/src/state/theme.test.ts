import { describe, expect, it } from 'vitest'
import { themeChoice } from './theme.ts'

function aPage() {
  const attributes = new Map<string, string>()
  return { attributes, root: { setAttribute: (name: string, value: string) => void attributes.set(name, value) } }
}

function aMemory() {
  const stored = new Map<string, string>()
  return {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  }
}

describe('the theme', () => {
  it('follows the browser until the user chooses, and is then remembered', () => {
    const memory = aMemory()
    const first = themeChoice(aPage().root, () => memory)
    expect(first.theme.value).toBe('system')
    first.choose('dark')
    const { attributes, root } = aPage()
    expect(themeChoice(root, () => memory).theme.value).toBe('dark')
    expect(attributes.get('data-theme')).toBe('dark')
  })

  it('works without storage', () => {
    const choice = themeChoice(aPage().root, () => {
      throw new Error('storage is forbidden')
    })
    choice.choose('light')
    expect(choice.theme.value).toBe('light')
  })
})
