import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const fileOf = (folder: string, name: string): string => join(folder, `${name}.clock`)

/** What a process reads whose wall clock is to be set. */
export function steppedClockEnv(folder: string, name: string): Record<string, string> {
  stepClock(folder, name, 0)
  const preloaded = new URL('stepped-clock.mjs', import.meta.url)
  preloaded.searchParams.set('file', fileOf(folder, name))
  return { NODE_OPTIONS: `--import ${preloaded.href}` }
}

/** From now on its wall clock is wrong by so much. */
export function stepClock(folder: string, name: string, wrongByMs: number): void {
  const file = fileOf(folder, name)
  writeFileSync(`${file}.new`, String(wrongByMs))
  renameSync(`${file}.new`, file)
}
