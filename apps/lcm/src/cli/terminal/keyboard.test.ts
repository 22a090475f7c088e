import { expect, it } from 'vitest'
import type { Keys } from '../command-dependencies.ts'
import { secretLine } from './keyboard.ts'

function aKeyboard() {
  const listeners = new Set<(text: string) => void>()
  const keys: Keys = pressed => {
    listeners.add(pressed)
    return () => listeners.delete(pressed)
  }
  const interrupt = new AbortController()
  const line = secretLine(keys, interrupt.signal)
  const press = (text: string) => {
    for (const pressed of listeners) pressed(text)
  }
  return { line, interrupt, listeners, press }
}

it('reads typed keys, including corrections, up to Enter', async () => {
  const { line, press, listeners } = aKeyboard()
  for (const key of ['s', 'x', '\u007f', 'e', 'c', '\r']) press(key)
  expect(await line).toBe('sec')
  expect(listeners.size).toBe(0)
})

it('reads pasted text, without the next line', async () => {
  const { line, press } = aKeyboard()
  press('pasted-token\nmore')
  expect(await line).toBe('pasted-token')
})

it('ends on Ctrl-C and when the process ends', async () => {
  const left = aKeyboard()
  left.press('se\u0003')
  expect(await left.line).toBeNull()
  const ended = aKeyboard()
  ended.interrupt.abort()
  expect(await ended.line).toBeNull()
  expect(ended.listeners.size).toBe(0)
})
