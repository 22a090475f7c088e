import { writeSse } from '../events.ts'
import { problemCodes } from '../openapi/problem-responses.ts'
import type { JsonSchema, OpenApiDocument, Schemas } from '../openapi/types.ts'
import { PROBLEMS } from '../problems.ts'
import type { RouteSpec } from '../routes.ts'
import { type Html, html, type Piece, prose, sample } from './html.ts'
import { fieldList, hasOwnPlace, resolved, schemaId, typeOf } from './schema-fields.ts'

const EVENT_SENTENCES: Readonly<Record<string, string>> = {
  created: 'It was made.',
  updated: 'It changed.',
  deleted: 'Its record was removed.',
  heartbeat: 'The stream is alive. Every stream begins with one, and they come at least every 15 seconds.',
  reset: 'The position that you resumed from is unknown or too old: read the lists again.',
  decision: 'A controller decided something. Not resumed.',
  batch: 'Fresh measurements, at most once a second. Not resumed.',
}

const FOLLOWING =
  'One message per change. Its `id` is the position: give the last one as `Last-Event-ID` and nothing is missed. ' +
  'Messages without an `id` are not told again.'

/** What comes over the streams, by type. */
export const eventsSection = (routes: readonly RouteSpec[], document: OpenApiDocument): Piece =>
  routes.filter(({ stream }) => stream).map(route => streamSection(route, document))

function streamSection({ method, path, status }: RouteSpec, document: OpenApiDocument): Piece {
  const answer = document.paths[path]?.[method.toLowerCase()]?.responses[status]
  const media = answer && 'content' in answer ? answer.content?.['text/event-stream'] : undefined
  if (!media) return null
  const { schemas } = document.components
  const event = media.schema.properties?.data?.contentSchema ?? {}
  const { anyOf, oneOf } = resolved(event, schemas)
  const kinds = anyOf ?? oneOf ?? [event]
  return html`<section id="event-types"><h2>Event types</h2><p>${prose(FOLLOWING)}</p>
${sample('stream', shortMessages(Object.values(media.examples ?? {})))}
<dl class="pairs">${kinds.map(kind => eventLines(kind, schemas))}</dl></section>`
}

function eventLines(kind: JsonSchema, schemas: Schemas): Html[] {
  const { type, data } = kind.properties ?? {}
  const about = data === undefined ? null : html` <code>data</code>: ${typeOf(data, schemas)}.`
  return (type?.enum ?? [type?.const]).map(String).map(name => {
    const sentence = EVENT_SENTENCES[name.split('.').at(-1) ?? ''] ?? ''
    return html`<dt><code>${name}</code></dt><dd>${sentence}${about}</dd>`
  })
}

/** The shortest examples show the frame best: one with a position and one without. */
function shortMessages(examples: readonly object[]): string {
  const messages = examples
    .flatMap(example => ('value' in example ? [example.value as { id?: string; data: string }] : []))
    .sort((a, b) => a.data.length - b.data.length)
  const shown = [messages.find(({ id }) => id === undefined), messages.find(({ id }) => id !== undefined)]
  return shown
    .flatMap(message => (message ? [writeSse({ id: message.id ?? null, data: message.data })] : []))
    .join('')
    .trimEnd()
}

/** Every schema that others refer to. */
export const schemasSection = ({ components: { schemas } }: OpenApiDocument): Html =>
  html`<section id="schemas"><h2>Schemas</h2>
<p>What bodies and answers are made of. Where nothing is marked as required, every field is there.</p>
${Object.entries(schemas)
  .filter(([, schema]) => hasOwnPlace(schema))
  .map(([name, schema]) => schemaPart(name, schema, schemas))}</section>`

function schemaPart(name: string, schema: JsonSchema, schemas: Schemas): Html {
  const fields = Object.keys(schema.properties ?? {})
  const isWhole = fields.length > 0 && fields.every(field => schema.required?.includes(field))
  return html`<details class="schema${isWhole ? ' whole' : null}" id="${schemaId(name)}">
<summary><code>${name}</code></summary>${fieldList(schema, schemas)}</details>
`
}

/** Every problem code; the `type` of a problem points here. */
export const problemsSection = (): Html => html`<section id="problems"><h2>Problems</h2>
<p>${prose('Every refusal has one of these codes. A code is never reused for another meaning.')}</p>
${problemCodes().map(code => {
  const { status, title, help } = PROBLEMS[code]
  return html`<article class="problem" id="${code}">
<h3><span class="status">${status}</span> <code>${code}</code> <span class="what">${title}</span></h3>
<p>${prose(help)}</p></article>
`
})}</section>`
