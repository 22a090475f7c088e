import { Ec2Refusal } from '../ec2/refusal.ts'

/** Reads members of an untrusted JSON object. An invalid one is rejected by name. */
export interface JsonText {
  has(name: string): boolean
  text(name: string): string
  textOr(name: string, otherwise: string): string
  number(name: string): number
  list(name: string): readonly JsonText[]
  texts(name: string): readonly string[]
  numbers(name: string): readonly number[]
  flag(name: string): boolean
  part(name: string): JsonText
  names(): readonly string[]
}

const refused = (message: string) => new Ec2Refusal('ValidationError', message)

export function splitJson(body: string): JsonText {
  if (body.trim() === '') return partsOf({}, '')
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    throw new Ec2Refusal('SerializationException', 'the body is not JSON')
  }
  return partsOf(value, '')
}

function partsOf(value: unknown, path: string): JsonText {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refused(`${path === '' ? 'the body' : path.slice(0, -1)} must be an object`)
  const held: ReadonlyMap<string, unknown> = new Map(Object.entries(value))
  const at = (name: string) => `${path}${name}`
  const text = (name: string): string => {
    const found = held.get(name)
    if (typeof found === 'string') return found
    throw refused(`The parameter ${at(name)} is required and must be a text`)
  }
  const number = (name: string): number => {
    const found = held.get(name)
    if (typeof found === 'number' && Number.isFinite(found)) return found
    throw refused(`The parameter ${at(name)} is required and must be a number`)
  }
  const array = (name: string): readonly unknown[] => {
    const found = held.get(name) ?? []
    if (Array.isArray(found)) return found
    throw refused(`The parameter ${at(name)} must be a list`)
  }
  const only = <Item>(name: string, guard: (item: unknown) => item is Item): readonly Item[] => {
    const items = array(name)
    if (items.every(guard)) return items
    throw refused(`The parameter ${at(name)} holds something of another kind`)
  }
  return {
    has: name => held.has(name) && held.get(name) !== null,
    text,
    textOr: (name, otherwise) => (held.has(name) ? text(name) : otherwise),
    number,
    list: name => array(name).map((item, n) => partsOf(item, `${at(name)}.${n + 1}.`)),
    texts: name => only(name, (item): item is string => typeof item === 'string'),
    numbers: name => only(name, (item): item is number => typeof item === 'number' && Number.isFinite(item)),
    flag(name) {
      const found = held.get(name)
      if (typeof found === 'boolean') return found
      throw refused(`The parameter ${at(name)} must be true or false`)
    },
    names: () => [...held.keys()],
    part: name => partsOf(held.get(name), `${at(name)}.`),
  }
}
