import { z } from 'zod'
import { REASONS } from './text/reasons/catalog.ts'

const MESSAGE_CHARS_MAX = 1000
const CODE_CHARS_MAX = 64

/**
 * Why something was decided, waits or was refused. Programs compare `code` and `params`; `message` is for people and may be worded
 * differently in the next release.
 */
export const Reason = z
  .object({
    code: z
      .string()
      .min(1)
      .max(CODE_CHARS_MAX)
      .meta({ description: 'What programs compare. The reference lists all codes.', example: 'cml_ready' }),
    message: z
      .string()
      .max(MESSAGE_CHARS_MAX)
      .meta({ description: 'The reason in English, for people.', example: 'CML 2.9.0 is ready' }),
    params: z
      .record(z.string().max(CODE_CHARS_MAX), z.unknown())
      .meta({ description: 'The values in the message, by name.', example: { version: '2.9.0' } }),
  })
  .meta({
    id: 'Reason',
    description: 'Why something was decided, waits or was refused. Compare codes; messages may change.',
    example: { code: 'cml_ready', message: 'CML 2.9.0 is ready', params: { version: '2.9.0' } },
  })
export type Reason = z.infer<typeof Reason>

export type ReasonCode = keyof typeof REASONS
type ParamsOf<Code extends ReasonCode> = Parameters<(typeof REASONS)[Code]>[0]

/** Never cuts a character in two: half of one is no valid text for clients that are strict about Unicode. */
function cut(text: string): string {
  const short = text.slice(0, MESSAGE_CHARS_MAX)
  const last = short.charCodeAt(short.length - 1)
  return last >= 0xd800 && last <= 0xdbff ? short.slice(0, -1) : short
}

/** Makes a reason of the catalog. The only place where a message is rendered. */
export function reason<Code extends ReasonCode>(
  code: Code,
  ...[params]: undefined extends ParamsOf<Code> ? [] : [ParamsOf<Code>]
): Reason {
  const render = REASONS[code] as (params?: object) => string
  return { code, message: cut(render(params)), params: { ...params } }
}

/** A foreign text, such as an error message of AWS or CML. */
export const textReason = (text: string): Reason => reason('text', { text: cut(text) })

/** Whether two reasons have the same code and params. Messages are not compared. */
export const sameReason = (a: Reason | null, b: Reason | null): boolean =>
  a === b || (a !== null && b !== null && a.code === b.code && JSON.stringify(a.params) === JSON.stringify(b.params))

const isAmount = (name: string): boolean => name === 'seconds' || name.endsWith('_seconds') || name.endsWith('_usd')

/** Code and params without durations and sums of money, which change from one reconcile to the next. */
export const withoutAmounts = ({ code, params }: Reason): object => ({
  code,
  params: Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) =>
      isAmount(name) ? [] : [[name, isReason(value) ? withoutAmounts(value) : value]],
    ),
  ),
})

const isReason = (value: unknown): value is Reason => Reason.safeParse(value).success
