import { ROLES } from '@lcm/domain/actor'
import { SettingValues } from '@lcm/domain/fleet/settings'
import { Instant } from '@lcm/domain/instant'
import { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { EventQuery } from '../events.ts'
import { PROBLEMS } from '../problem-codes.ts'
import { PROBLEM_MEDIA_TYPE, Problem } from '../problems.ts'
import { EVERYONE, fromEtag } from '../route-spec.ts'
import { ROUTES, type RouteSpec } from '../routes.ts'
import { TemplateList } from '../template.ts'
import { WorkerView } from '../worker.ts'
import { openApi, rolesOf } from './document.ts'
import type { Answer, Example, JsonSchema, Operation, Parameter, Reference } from './document-types.ts'
import { pathNames } from './parameters-and-headers.ts'
import { problemsOf } from './problem-responses.ts'
import { COMPONENT_SCHEMAS, schemaComponents } from './schema-components.ts'
import { tagDescription } from './tags.ts'

const document = openApi('1.2.3')
const routes = Object.entries<RouteSpec>(ROUTES)

function found(name: string, { path, method }: RouteSpec, within = document): Operation {
  const operation = within.paths[path]?.[method.toLowerCase()]
  if (operation?.operationId !== name) throw new Error(`${name} is not in the document`)
  return operation
}

function atPointer(ref: string, within: unknown = document): unknown {
  return ref
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], within)
}

const resolved = <T>(value: T | Reference, within: unknown = document): T =>
  typeof value === 'object' && value !== null && '$ref' in value
    ? (atPointer(value.$ref as string, within) as T)
    : (value as T)

const parametersOf = ({ parameters }: Operation): Parameter[] => parameters.map(each => resolved<Parameter>(each))

/** Every object in the document with the path to it. */
function* objectsIn(value: unknown, path = '#'): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [path, value as Record<string, unknown>]
  for (const [key, child] of Object.entries(value)) yield* objectsIn(child, `${path}/${key}`)
}

const referencesIn = (value: unknown) =>
  [...objectsIn(value)].flatMap(([path, { $ref }]) => (typeof $ref === 'string' ? [{ path, $ref }] : []))

describe('the document', () => {
  it('survives JSON', () => {
    expect(JSON.parse(JSON.stringify(document))).toStrictEqual(document)
    expect(document.info).toMatchObject({ version: '1.2.3' })
  })

  it('has no dangling references and no unused components', () => {
    const references = referencesIn(document)
    expect(references.filter(({ $ref }) => atPointer($ref) === undefined)).toEqual([])
    const used = new Set(references.map(({ $ref }) => $ref))
    const { schemas, responses } = document.components
    const unused = [
      ...Object.keys(schemas).map(name => COMPONENT_SCHEMAS + name),
      ...Object.keys(responses).map(name => `#/components/responses/${name}`),
    ].filter(ref => !used.has(ref))
    expect(unused).toEqual([])
  })

  it('names its components as the specification allows', () => {
    const names = Object.values(document.components).flatMap(kind => Object.keys(kind))
    expect(names.filter(name => !/^[a-zA-Z0-9._-]+$/.test(name))).toEqual([])
    expect(Object.keys(document.components.schemas).filter(name => !/^[A-Z]\w*$/.test(name))).toEqual([])
  })

  it('has every route once', () => {
    const operations = Object.values(document.paths).flatMap(methods => Object.values(methods))
    expect(operations.map(({ operationId }) => operationId).sort()).toEqual(routes.map(([name]) => name).sort())
  })

  it('describes every tag', () => {
    expect(document.tags.filter(({ name }) => tagDescription(name) === '')).toEqual([])
    expect(new Set(document.tags.map(({ name }) => name)).size).toBe(document.tags.length)
  })

  it('shows events with the id of their resource', () => {
    const { content } = resolved<Answer>(found('events', ROUTES.events).responses[200] ?? { description: '' })
    const { value } = resolved<Example>(
      content?.['text/event-stream']?.examples?.['template.created'] ?? { value: null },
    )
    const event = JSON.parse((value as { data: string }).data) as { id: string; data: { id: string } }
    expect(event.id).toBe(event.data.id)
  })

  it('lists every problem of a route, with a valid example', () => {
    for (const [name, route] of routes) {
      const { responses } = found(name, route)
      for (const code of problemsOf(route)) {
        const answer = resolved<Answer>(responses[PROBLEMS[code].status] ?? { description: '' })
        const example = resolved(answer.content?.[PROBLEM_MEDIA_TYPE]?.examples?.[code] ?? { value: null })
        expect(Problem.parse(example.value), `${name} ${code}`).toMatchObject({ code, status: PROBLEMS[code].status })
      }
    }
  })
})

describe.each(routes)('%s', (name, route) => {
  const operation = found(name, route)
  const success = resolved<Answer>(operation.responses[route.status] ?? { description: '' })

  it('declares every parameter of its path', () => {
    const declared = parametersOf(operation).filter(parameter => parameter.in === 'path')
    expect(declared.map(parameter => parameter.name)).toEqual(pathNames(route))
    expect(declared.every(({ required }) => required)).toBe(true)
  })

  it('describes its parameters, with valid examples', () => {
    for (const { name: field, in: where, description, example } of parametersOf(operation)) {
      expect(description, `the description of ${field}`).toBeTruthy()
      if (where !== 'query' || example === undefined) continue
      expect(route.query?.shape[field]?.safeParse(example).success, field).toBe(true)
    }
  })

  it('has a named body and response, with valid examples', () => {
    const body = operation.requestBody?.content['application/json']
    const answer = success.content?.['application/json']
    if (route.body) expect(body?.schema.$ref, `give the body of ${name} an id`).toBeDefined()
    if (route.body) expect(route.body.safeParse(body?.example).error).toBeUndefined()
    if (!route.answer || route.stream || route.file !== undefined) return
    expect(answer?.schema.$ref, `give the response of ${name} an id`).toBeDefined()
    expect(route.answer.safeParse(answer?.example).error).toBeUndefined()
  })

  it('shows every event type of a stream', () => {
    const examples = Object.values(success.content?.['text/event-stream']?.examples ?? {})
    expect(examples.length > 0).toBe(route.stream === true)
    for (const example of examples) {
      const { value } = resolved<{ value: { data: string } }>(example as Reference)
      expect(route.answer?.safeParse(JSON.parse(value.data)).error).toBeUndefined()
    }
  })

  it('names the allowed roles', () => {
    expect(operation['x-lcm-roles'].length).toBeGreaterThan(0)
    expect(operation['x-lcm-roles']).toEqual(rolesOf(route.access))
  })
})

const aRoute = (route: Partial<RouteSpec>): RouteSpec => ({
  method: 'POST',
  path: '/workers/{id}/dance',
  summary: 'Dance',
  description: 'To music.',
  params: { id: { description: 'The dancer.', example: 'w-1' } },
  access: EVERYONE,
  status: 202,
  answer: WorkerView,
  problems: [],
  ...route,
})
const documented = (route: Partial<RouteSpec>) => {
  const within = openApi('0', { dance: aRoute(route) })
  return { within, operation: found('dance', aRoute(route), within) }
}

describe('a route', () => {
  const headersOf = (route: Partial<RouteSpec>) => {
    const { within, operation } = documented(route)
    const parameters = operation.parameters.map(each => resolved<Parameter>(each, within))
    return parameters.filter(each => each.in === 'header').map(({ name, required }) => `${name}${required ? '!' : ''}`)
  }
  const answerOf = (route: Partial<RouteSpec>, status: number | string) => {
    const { within, operation } = documented(route)
    return resolved<Answer>(operation.responses[status] ?? { description: 'absent' }, within)
  }

  it.each<[string, Partial<RouteSpec>, string[]]>([
    ['nothing', {}, []],
    ['ifMatch', { ifMatch: 'optional' }, ['If-Match']],
    ['required ifMatch', { ifMatch: 'required' }, ['If-Match!']],
    ['idempotent', { idempotent: true }, ['Idempotency-Key']],
    ['fenced', { fenced: true }, ['lcm-epoch!']],
    ['stream', { stream: true }, ['Last-Event-ID']],
  ])('%s becomes headers', (_, route, headers) => {
    expect(headersOf(route)).toEqual(headers)
  })

  it('becomes response headers', () => {
    const headers = (route: Partial<RouteSpec>) => Object.keys(answerOf(route, 202).headers ?? {})
    expect(headers({})).toEqual(['ETag'])
    expect(headers({ answer: null })).toEqual([])
    expect(headers({ location: '/workers/{id}', idempotent: true })).toEqual([
      'ETag',
      'Location',
      'Idempotent-Replayed',
    ])
    expect(Object.keys(answerOf({}, 429).headers ?? {})).toEqual(['Retry-After'])
  })

  it('becomes headers of problems', () => {
    const headers = (route: Partial<RouteSpec>, status: number) => Object.keys(answerOf(route, status).headers ?? {})
    expect(headers({}, 401)).toEqual(['WWW-Authenticate'])
    expect(headers({}, 405)).toEqual(['Allow'])
    expect(headers({ idempotent: true }, 409)).toEqual(['Retry-After'])
    expect(headers({ problems: ['already_exists'] }, 409)).toEqual([])
  })

  it('requires a body unless all its fields are optional', () => {
    const required = (body: z.ZodType) => documented({ body }).operation.requestBody?.required
    expect(required(z.strictObject({ reason: z.string() }))).toBe(true)
    expect(required(z.strictObject({ reason: z.string().optional() }))).toBe(false)
  })

  it('becomes messages with an event as data', () => {
    const { properties, required } = answerOf({ stream: true }, 202).content?.['text/event-stream']?.schema ?? {}
    expect(required).toEqual(['data'])
    expect(properties?.data).toMatchObject({
      contentMediaType: 'application/json',
      contentSchema: { $ref: `${COMPONENT_SCHEMAS}Worker` },
    })
  })

  it('becomes security requirements', () => {
    expect(documented({}).operation).not.toHaveProperty('security')
    expect(documented({ access: 'open' }).operation).toMatchObject({ security: [], 'x-lcm-roles': ROLES })
    expect(documented({ access: { controllersOf: 'worker-controller' } }).operation).toMatchObject({
      security: [{ bearer: [] }],
      'x-lcm-roles': ['controller'],
      'x-lcm-service': 'worker-controller',
    })
  })

  it('becomes problems', () => {
    const codesOf = (route: Partial<RouteSpec>) => documented(route).operation['x-lcm-problems']
    expect(codesOf({})).toEqual(expect.arrayContaining(['rate_limited', 'not_found', 'forbidden', 'foreign_origin']))
    expect(codesOf({ access: 'open' })).not.toContain('forbidden')
    expect(codesOf({ idempotent: true })).toEqual(
      expect.arrayContaining(['idempotency_in_progress', 'idempotency_key_reused', 'validation_failed']),
    )
    expect(codesOf({ fenced: true })).toEqual(expect.arrayContaining(['stale_leader', 'precondition_required']))
    expect(codesOf({ body: z.object({}) })).toEqual(expect.arrayContaining(['malformed_json', 'body_too_large']))
  })

  it('has the limit of its body', () => {
    const limitOf = (route: Partial<RouteSpec>) => documented({ body: z.object({}), ...route }).operation.requestBody
    expect(limitOf({})).toMatchObject({ description: 'At most 64 KiB.' })
    expect(limitOf({ access: { controllersOf: 'any' } })).toMatchObject({ description: 'At most 1 MiB.' })
    expect(limitOf({ bodyBytesMax: 5 * 1024 * 1024 })).toMatchObject({ description: 'At most 5 MiB.' })
  })

  it('becomes files and second success statuses', () => {
    const file = 'application/octet-stream'
    expect(answerOf({ answer: z.string(), file }, 202).content).toEqual({ [file]: { schema: {} } })
    const alsoStatus = { status: 200, meaning: 'it danced before' }
    expect(answerOf({ alsoStatus }, 200)).toEqual({ ...answerOf({}, 202), description: 'It danced before.' })
  })
})

describe('schemas', () => {
  it('have an input variant only if they differ, directly or by reference', () => {
    const both = schemaComponents([aRoute({ body: TemplateList, answer: TemplateList })]).components
    expect(Object.keys(both).filter(name => name.endsWith('Input'))).toEqual([
      'TemplateListInput',
      'WorkerTemplateInput',
    ])
    expect(both.TemplateListInput?.properties?.items?.items).toEqual({
      $ref: `${COMPONENT_SCHEMAS}WorkerTemplateInput`,
    })
    expect(both.WorkerTemplateInput?.required).not.toContain('enabled')
    expect(both.WorkerTemplate?.required).toContain('enabled')
    const one = schemaComponents([aRoute({ body: WorkerTemplate, answer: null })]).components
    expect(Object.keys(one)).toContain('WorkerTemplate')
    expect(Object.keys(one).filter(name => name.endsWith('Input'))).toEqual([])
  })

  it('refuse unknown fields in requests, but not in responses', () => {
    const { components } = schemaComponents([aRoute({ body: WorkerTemplate, answer: WorkerView })])
    expect(components.WorkerTemplate?.additionalProperties).toBe(false)
    expect(components.Worker).not.toHaveProperty('additionalProperties')
  })

  it('contain checks beyond field types', () => {
    const { CreateToken, CreateWorker, Labels, Capacity } = document.components.schemas
    expect(CreateToken).toMatchObject({ else: { properties: { service: false } } })
    expect(CreateWorker?.properties).toMatchObject({ tags: { propertyNames: { pattern: '^(?!aws:|lcm:)' } } })
    expect(Labels).toMatchObject({ maxProperties: 50 })
    expect(Capacity?.properties).toMatchObject({ cpu_cores: { maximum: 100_000 } })
  })

  it('explain their patterns', () => {
    expect(document.components.schemas.NewWorkerName).toMatchObject({
      'x-lcm-format': expect.stringContaining('one space between them'),
    })
    expect(document.components.schemas.WorkerName).toMatchObject({ 'x-lcm-format': 'no control characters' })
  })

  it('contain no redundant keywords', () => {
    const { schemas } = document.components
    expect(schemas.Instant?.pattern?.length).toBeLessThan(100)
    expect(JSON.stringify(schemas)).not.toContain('"example":')
  })
})

describe('patterns accept what the server accepts', () => {
  const patternOf = ({ pattern = '' }: JsonSchema = {}) => new RegExp(pattern, 'u')

  it.each(['"4"', '4', 'W/"4"', '"123456789012345"', '', '"', '"x"', '"4", "5"', '"1234567890123456"', '-1'])(
    'a version: %s',
    text => {
      const { IfMatch, IfMatchRequired } = document.components.parameters
      const isVersion = fromEtag(text) !== null
      expect(patternOf(IfMatch?.schema).test(text)).toBe(isVersion)
      expect(patternOf(IfMatchRequired?.schema).test(text)).toBe(isVersion)
    },
  )

  it.each([
    ['2026-01-02T03:04:05.678Z', true],
    ['2026-01-02T03:04:05Z', false],
    ['2026-01-02T03:04:05.678+00:00', false],
    ['2026-01-02T24:00:00.000Z', false],
    ['2016-12-31T23:59:60.000Z', false],
  ])('an instant: %s', (text, isInstant) => {
    expect(Instant.safeParse(text).success).toBe(isInstant)
    expect(patternOf(document.components.schemas.Instant).test(text)).toBe(isInstant)
  })
})

it.each([
  ['worker', true],
  ['worker.updated,template,metrics.batch', true],
  ['heartbeat', true],
  ['', false],
  ['worker.', false],
  ['workerxupdated', false],
  ['worker,', false],
  ['worker,nothing', false],
])('accepts event types: %s', (text, isTaken) => {
  const [types] = parametersOf(found('events', ROUTES.events)).filter(({ name }) => name === 'types')
  expect(new RegExp(types?.schema.pattern ?? '').test(text)).toBe(isTaken)
  expect(EventQuery.safeParse({ types: text }).success).toBe(isTaken)
})

const { schemas } = document.components

describe('descriptions', () => {
  /** Every property of a schema with the path to it, but not those of referenced schemas. */
  function* propertiesIn(schema: JsonSchema, path: string): Generator<[string, JsonSchema]> {
    for (const option of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
      yield* propertiesIn(option, path)
    if (schema.items) yield* propertiesIn(schema.items, path)
    if (typeof schema.additionalProperties === 'object') yield* propertiesIn(schema.additionalProperties, `${path}.*`)
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      yield [`${path}.${name}`, property]
      yield* propertiesIn(property, `${path}.${name}`)
    }
  }

  it('exist for every operation', () => {
    const missing = routes.filter(([name, route]) => {
      const { summary, description } = found(name, route)
      return summary === '' || description === '' || !/[^.]$/.test(summary) || !/\.$/.test(description)
    })
    expect(missing.map(([name]) => name)).toEqual([])
  })

  it('exist for every parameter', () => {
    const missing = routes.flatMap(([name, route]) =>
      parametersOf(found(name, route))
        .filter(({ description = '' }) => description === '')
        .map(parameter => `${name} ${parameter.name}`),
    )
    expect(missing).toEqual([])
  })

  it('name only parameters of the path', () => {
    const wrong = routes.filter(([, route]) =>
      Object.keys(route.params ?? {}).some(name => !pathNames(route).includes(name)),
    )
    expect(wrong.map(([name]) => name)).toEqual([])
  })

  it('exist for every schema and every property', () => {
    const all = Object.entries(schemas)
    expect(all.filter(([, { description = '' }]) => description === '').map(([name]) => name)).toEqual([])
    const properties = all.flatMap(([name, schema]) => [...propertiesIn(schema, name)])
    const text = (schema: JsonSchema) =>
      schema.description ?? resolved<JsonSchema>(schema as Reference).description ?? ''
    expect(properties.filter(([, property]) => text(property) === '').map(([path]) => path)).toEqual([])
  })
})

describe('client generators', () => {
  const objects = [...objectsIn(document)].filter(
    ([path]) => !/\/(example|examples|value|x-lcm-default)(\/|$)/.test(path),
  )

  it('get no schema that is only null', () => {
    const alternatives = /\/(anyOf|oneOf)\/\d+$/
    expect(
      objects.filter(([path, { type }]) => type === 'null' && !alternatives.test(path)).map(([path]) => path),
    ).toEqual([])
  })

  it('get no default that is an object', () => {
    const isObject = (value: unknown) => typeof value === 'object' && value !== null
    expect(
      objects
        .filter(([path, { default: preset }]) => isObject(preset) && !path.endsWith('/properties'))
        .map(([path]) => path),
    ).toEqual([])
  })

  it('get URIs as links', () => {
    expect(URL.canParse(document.externalDocs.url)).toBe(true)
  })

  it('get every setting with its type', () => {
    const { settings } = schemas.Settings?.properties ?? {}
    expect(settings?.properties?.idle_timeout_seconds?.properties?.value).toMatchObject({ type: 'integer' })
    expect(Object.keys(settings?.properties ?? {})).toEqual(Object.keys(SettingValues.shape))
  })
})
