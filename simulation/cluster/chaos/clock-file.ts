import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** File with the clock offset of a process. */
export const clockFile = (folder: string, name: string): string => join(folder, `${name}.clock`)

/** Sets the wall clock of a process wrong. */
export function stepClock(folder: string, name: string, wrongByMs: number): void {
  const file = clockFile(folder, name)
  writeFileSync(`${file}.new`, String(wrongByMs))
  renameSync(`${file}.new`, file)
}
