import { PRESETS } from '@lcm/client/sim-client'
import { InvalidArgumentError, Option } from 'commander'

const PORT_MAX = 65_535

export function portArgument(text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number <= PORT_MAX) return number
  throw new InvalidArgumentError(`Give a port from 0 to ${PORT_MAX}.`)
}

export function speedArgument(text: string): number {
  const number = Number(text)
  if (Number.isFinite(number) && number > 0) return number
  throw new InvalidArgumentError('Give a number above 0, such as 60.')
}

const COUNT_MAX = 10_000

export function countArgument(text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number <= COUNT_MAX) return number
  throw new InvalidArgumentError(`Give a whole number from 0 to ${COUNT_MAX}.`)
}

export const presetOption = (flags: string): Option =>
  new Option(flags, 'Fault preset of the simulated cloud (default: unchanged, initially calm)').choices(PRESETS)
