import { readFileSync } from 'node:fs'

/** Current and peak memory of a process in MB, from Linux. */
export function memoryOf(pid: number): { rssMb: number; peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mb = (name: string) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
  return { rssMb: mb('VmRSS'), peakMb: mb('VmHWM') }
}

/** Linux counts in ticks of 10 ms. */
const TICKS_PER_SECOND = 100

/** CPU time of a process since its start. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program comes second, in parentheses, and may hold blanks.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return ((user ?? 0) + (system ?? 0)) / TICKS_PER_SECOND
}
