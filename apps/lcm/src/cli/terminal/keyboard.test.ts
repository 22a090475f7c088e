import { expect, it } from 'vitest'
import type { Keys } from '../shell.ts'
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

it('takes what is typed key by key, with its corrections, up to Enter', async () => {
  const { line, press, listeners } = aKeyboard()
  for (const key of ['s', 'x', '\u007f', 'e', 'c', '\r']) press(key)
  expect(await line).toBe('sec')
  expect(listeners.size).toBe(0)
})

it('takes what is pasted, without the line after it', async () => {
  const { line, press } = aKeyboard()
  press('pasted-token\nmore')
  expect(await line).toBe('pasted-token')
})

it('is left by Ctrl-C and by an end of the process', async () => {
  const left = aKeyboard()
  left.press('se\u0003')
  expect(await left.line).toBeNull()
  const ended = aKeyboard()
  ended.interrupt.abort()
  expect(await ended.line).toBeNull()
  expect(ended.listeners.size).toBe(0)
})
