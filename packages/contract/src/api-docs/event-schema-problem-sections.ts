import { writeSse } from '../events.ts'
import type { JsonSchema, OpenApiDocument, Schemas } from '../openapi/document-types.ts'
import { problemCodes } from '../openapi/problem-responses.ts'
import { PROBLEMS } from '../problem-codes.ts'
import type { RouteSpec } from '../routes.ts'
import { type Html, html, type Piece, prose, sample } from './safe-html.ts'
import { fieldList, hasOwnSection, resolved, schemaId, typeOf } from './schema-fields.ts'

const EVENT_TEXTS: Readonly<Record<string, string>> = {
  created: 'The resource was created.',
  updated: 'The resource changed.',
  deleted: 'The resource was deleted.',
  heartbeat: 'The stream is alive. Every stream begins with one, and they follow at least every 15 seconds.',
  reset: 'The position to resume from is unknown or too old: read the lists again.',
  decision: 'A controller decided something. Not repeated after a reconnect.',
  batch: 'New measurements, at most once a second. Not repeated after a reconnect.',
}

const RESUME =
  'One message per change. Its `id` is the position: send the last one as `Last-Event-ID` to miss nothing. ' +
  'Messages without an `id` are not repeated.'

/** The event types of all streams. */
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
  return html`<section id="event-types"><h2>Event types</h2><p>${prose(RESUME)}</p>
${sample('stream', shortMessages(Object.values(media.examples ?? {})))}
<dl class="pairs">${kinds.map(kind => eventLines(kind, schemas))}</dl></section>`
}

function eventLines(kind: JsonSchema, schemas: Schemas): Html[] {
  const { type, data } = kind.properties ?? {}
  const about = data === undefined ? null : html` <code>data</code>: ${typeOf(data, schemas)}.`
  return (type?.enum ?? [type?.const]).map(String).map(name => {
    const sentence = EVENT_TEXTS[name.split('.').at(-1) ?? ''] ?? ''
    return html`<dt><code>${name}</code></dt><dd>${sentence}${about}</dd>`
  })
}

/** The shortest example with a position, and the shortest one without. */
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

/** All schemas that have a section of their own. */
export const schemasSection = ({ components: { schemas } }: OpenApiDocument): Html =>
  html`<section id="schemas"><h2>Schemas</h2>
<p>Schemas of request and response bodies. If no field is marked as required, all fields are always present.</p>
${Object.entries(schemas)
  .filter(([, schema]) => hasOwnSection(schema))
  .map(([name, schema]) => schemaPart(name, schema, schemas))}</section>`

function schemaPart(name: string, schema: JsonSchema, schemas: Schemas): Html {
  const fields = Object.keys(schema.properties ?? {})
  const isComplete = fields.length > 0 && fields.every(field => schema.required?.includes(field))
  return html`<details class="schema${isComplete ? ' complete' : null}" id="${schemaId(name)}">
<summary><code>${name}</code></summary>${fieldList(schema, schemas)}</details>
`
}

/** All problem codes; the `type` of a problem links here. */
export const problemsSection = (): Html => html`<section id="problems"><h2>Problems</h2>
<p>${prose('Every refusal has one of these codes. A code is never reused for another meaning.')}</p>
${problemCodes().map(code => {
  const { status, title, help } = PROBLEMS[code]
  return html`<article class="problem" id="${code}">
<h3><span class="status">${status}</span> <code>${code}</code> <span class="what">${title}</span></h3>
<p>${prose(help)}</p></article>
`
})}</section>`
