import { isAddressRange } from '@lcm/control-plane/access/client-address'
import { SECRET_KEYS } from '@lcm/control-plane/keys/secret-keys'
import { type SettingName, SettingValues, wordOfSetting } from '@lcm/domain/fleet/settings'
import { HOST_PATTERN } from '@lcm/domain/outbound/host-list'
import { z } from 'zod'

/** Decimal numbers, including `2.6e+06`, which Helm writes for large ones. Spaces are not zero. */
const NUMBER = /^(\d+(\.\d+)?|\.\d+)(e\+?\d+)?$/i
const numberIn = (text: string): number => (NUMBER.test(text) ? Number(text) : Number.NaN)

/** A number; the error message names the allowed values. */
const number = (allowed: string, isAllowed: (value: number) => boolean) =>
  z
    .string()
    .refine(text => isAllowed(numberIn(text)), allowed)
    .transform(numberIn)

const within = (min: number, max: number) => (value: number) => value >= min && value <= max
const inMs = (value: number) => value * 1000
const DAY_SECONDS = 86_400

/** The only place where seconds are converted to milliseconds. */
export const seconds = (fallback: number) =>
  number(`seconds, more than 0 and at most ${DAY_SECONDS}`, value => value > 0 && value <= DAY_SECONDS)
    .transform(inMs)
    .default(fallback * 1000)
export const secondsFrom = (min: number, fallback: number, max = DAY_SECONDS) =>
  number(`seconds, from ${min} to ${max}`, within(min, max))
    .transform(inMs)
    .default(fallback * 1000)
export const wholeSecondsFrom = (min: number, fallback: number) =>
  number(
    `whole seconds, from ${min} to ${DAY_SECONDS}`,
    value => Number.isInteger(value) && within(min, DAY_SECONDS)(value),
  )
    .transform(inMs)
    .default(fallback * 1000)
export const whole = (min: number, max: number) =>
  number(`a whole number from ${min} to ${max}`, value => Number.isInteger(value) && within(min, max)(value))

export const flag = z.stringbool({ error: 'true or false' })
export const word = z.string().min(1)
export const words = z
  .string()
  .transform(list =>
    list
      .split(',')
      .map(each => each.trim())
      .filter(each => each !== ''),
  )
  .refine(list => list.length > 0, 'one or more, separated by commas')
export const hosts = words.refine(
  list => list.every(each => HOST_PATTERN.test(each)),
  'hosts such as labs.example, *.labs.example or 10.0.0.7:8443, separated by commas',
)
/** Addresses of proxies. */
export const proxies = words.refine(
  list => list.every(isAddressRange),
  'addresses or CIDR ranges, such as 10.0.0.0/8, separated by commas',
)
const address = (allowed: string) => z.url({ protocol: /^https?$/, error: allowed, abort: true })
export const url = address('an http or https address, such as http://localhost:8080')

/** With user and password if the server asks for them. */
export const smtpUrl = z
  .url({
    protocol: /^smtps?$/,
    error: 'an smtp or smtps address, such as smtp://user:password@mail.example:587',
    abort: true,
  })
  .refine(isDecodable, 'an address whose password has %25 for each percent sign')

function isDecodable(text: string): boolean {
  const { username, password } = new URL(text)
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}

const NO_PATH = 'an address without a path, such as https://lcm.example'
export const publicUrl = address(NO_PATH)
  .refine(text => /^[^/]+\/\/[^/?#]+\/?$/.test(text), NO_PATH)
  .transform(text => new URL(text).origin)

/** Anyone who can modify the provider's responses can impersonate any user. */
export const issuer = address('an https address').refine(
  text => /^https:|^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/.test(text),
  'an https address',
)

interface Unit {
  readonly name: string
  /** Size in units of the setting. */
  readonly size: number
}

interface NumberSchema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
}

/** The number of a setting that may also be a word; else the schema itself. */
function numberSchema(schema: z.ZodType): NumberSchema {
  const { anyOf, ...plain } = z.toJSONSchema(schema) as NumberSchema & { anyOf?: NumberSchema[] }
  return anyOf?.[0] ?? plain
}

/** A setting as text, with the same limits as at run time. */
export function setting(name: SettingName, unit: Unit = { name: 'a whole number', size: 1 }) {
  const schema: z.ZodType = SettingValues.shape[name]
  const { type, enum: names, minimum = 0, maximum = 0 } = numberSchema(schema)
  const word = wordOfSetting(name)
  const isNumber = type === 'integer' || type === 'number'
  const fraction = unit.size === 1 ? '' : ', in whole seconds'
  const unitName = type === 'number' ? 'a number' : unit.name
  const range = `${unitName} from ${minimum / unit.size} to ${maximum / unit.size}${fraction}${word === null ? '' : `, or ${word}`}`
  const words =
    names === undefined ? 'none, or ids of images and launch templates with commas' : `one of ${names.join(', ')}`
  const allowed = type === 'boolean' ? 'true or false' : isNumber ? range : words
  return z
    .string()
    .transform((text): unknown => {
      if (type === 'boolean') return flag.safeParse(text).data
      return isNumber && text !== word ? Number((numberIn(text) * unit.size).toFixed(3)) : text
    })
    .refine(value => schema.safeParse(value).success, allowed)
    .optional()
}

/** One key, or several during a rotation. */
export const secretKeys = z
  .string()
  .trim()
  .regex(
    SECRET_KEYS,
    '64 hexadecimal digits, for example from `openssl rand -hex 32`; several keys are separated by commas, the newest first',
  )
