import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where a process reads by how much its wall clock is wrong. */
export const clockFile = (folder: string, name: string): string => join(folder, `${name}.clock`)

/** From now on its wall clock is wrong by so much. */
export function stepClock(folder: string, name: string, wrongByMs: number): void {
  const file = clockFile(folder, name)
  writeFileSync(`${file}.new`, String(wrongByMs))
  renameSync(`${file}.new`, file)
}
