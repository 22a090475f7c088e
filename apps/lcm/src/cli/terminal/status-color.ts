import { type Status, type Tone, toneOf } from '@lcm/domain/text/status-tone'
import type { Colors } from './output.ts'

const COLOR_OF_TONE = {
  green: 'green',
  orange: 'yellow',
  blue: 'blue',
  red: 'red',
  gray: 'gray',
  violet: 'magenta',
} as const satisfies Record<Tone, keyof Colors>

/** Colors a status as the console does. The status is always printed as a word too. */
export const statusColor = (status: Status, colors: Colors) => colors[COLOR_OF_TONE[toneOf(status)]]
