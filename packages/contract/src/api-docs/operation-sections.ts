import type { Answer, MediaType, OpenApiDocument, Operation, Parameter, Reference } from '../openapi/document-types.ts'
import { problemsOf } from '../openapi/problem-responses.ts'
import { tagDescription, tagOf, tagsOf } from '../openapi/tags.ts'
import { PROBLEMS, type ProblemCode } from '../problem-codes.ts'
import { type Access, EVERYONE } from '../route-spec.ts'
import { API_PREFIX, type RouteSpec } from '../routes.ts'
import { curlOf } from './curl-examples.ts'
import { type Html, html, joined, type Piece, prose, sample } from './safe-html.ts'
import { fieldLine, fieldList, typeOf } from './schema-fields.ts'

type Routes = Readonly<Record<string, RouteSpec>>

/** The tag as a heading, such as `Worker templates`. */
export const tagTitle = (tag: string): string => {
  const words = tag.replaceAll('-', ' ')
  return `${words[0]?.toUpperCase() ?? ''}${words.slice(1)}`
}

/** Every operation by tag; the ones that only controllers may call come last. */
export function operationSections(routes: Routes, document: OpenApiDocument): Html[] {
  return tagsOf(Object.values(routes)).map(tag => {
    const within = Object.entries(routes).filter(([, route]) => tagOf(route) === tag)
    const forPeople = within.filter(([, route]) => !isForControllers(route.access))
    const forControllers = within.filter(([, route]) => isForControllers(route.access))
    return html`<section id="tag-${tag}"><h2>${tagTitle(tag)}</h2><p>${tagDescription(tag)}</p>
${forPeople.map(([name, route]) => operationPart(name, route, document))}
${forControllers.length === 0 ? null : html`<h3>For controllers</h3>`}
${forControllers.map(([name, route]) => operationPart(name, route, document))}</section>`
  })
}

const isForControllers = (access: Access): boolean => typeof access === 'object' && 'controllersOf' in access

function operationPart(name: string, route: RouteSpec, document: OpenApiDocument): Html {
  const operation = document.paths[route.path]?.[route.method.toLowerCase()]
  if (!operation) return html``
  const parameters = operation.parameters.map(each => parameterAt(each, document))
  return html`<details class="operation" id="op-${name}">${summaryLine(route)}
<div class="halves"><div>
<p>${prose(operation.description)}</p>
<p class="who"><span>Callers:</span> ${allowedCallers(route.access)}</p>
${parametersPart(parameters, document)}
${bodyPart(operation, document)}
${problemsPart(route)}
</div><div>
<h3>Request</h3>${sample('shell', curlOf(route, { ...operation, parameters }), tryPathOf(route))}
${answerPart(operation, route.status, document)}
</div></div></details>
`
}

const summaryLine = ({ method, path, summary }: RouteSpec): Html =>
  html`<summary><span class="method ${method.toLowerCase()}">${method}</span> <code class="path">${path}</code>
<span class="what">${summary}</span></summary>`

/** The page itself can call a GET without parameters. */
const tryPathOf = ({ method, path, stream }: RouteSpec): string | null =>
  method === 'GET' && !stream && !path.includes('{') ? API_PREFIX + path : null

export function parameterAt(parameter: Parameter | Reference, { components }: OpenApiDocument): Parameter {
  if (!('$ref' in parameter)) return parameter
  const found = components.parameters[parameter.$ref.split('/').at(-1) ?? '']
  if (!found) throw new Error(`${parameter.$ref} is not in the document`)
  return found
}

export function allowedCallers(access: Access): string {
  if (access === 'open') return 'everyone, without a token'
  if ('controllersOf' in access)
    return access.controllersOf === 'any'
      ? 'all controllers, each for its own service'
      : `the ${[access.controllersOf].flat().join(' and the ')}`
  if (access === EVERYONE) return 'all roles'
  return [...access.roles, ...(access.controller === undefined ? [] : [`the ${access.controller}`])].join(', ')
}

function parametersPart(parameters: readonly Parameter[], { components }: OpenApiDocument): Piece {
  if (parameters.length === 0) return null
  const lines = parameters.map(({ name, required, in: where, schema, description }) =>
    fieldLine(
      { name, required, where },
      description === undefined ? schema : { ...schema, description },
      components.schemas,
    ),
  )
  return html`<h3>Parameters</h3><ul class="fields">${lines}</ul>`
}

function bodyPart({ requestBody }: Operation, { components }: OpenApiDocument): Piece {
  const body = requestBody?.content['application/json']
  return requestBody && body
    ? html`<h3>Body</h3><p>${requestBody.description}</p>${fieldList(body.schema, components.schemas)}`
    : null
}

function answerPart(operation: Operation, status: number, { components }: OpenApiDocument): Html {
  const answer = operation.responses[status] as Answer
  const [type, media] = Object.entries(answer.content ?? {})[0] ?? []
  const headers = Object.keys(answer.headers ?? {})
  const about: Piece[] = [
    ...(media ? [typeOf(media.schema, components.schemas)] : []),
    ...(type === undefined || type === 'application/json' ? [] : [html`<code>${type}</code>`]),
    ...headers.map(header => html`<code>${header}</code>`),
  ]
  return html`<h3>Response <span class="status">${status}</span></h3><p>${answer.description} ${joined(about, ', ')}</p>
${media ? sample('json', JSON.stringify(exampleIn(media), null, 2)) : null}`
}

function exampleIn({ example, examples }: MediaType): unknown {
  const [first] = Object.values(examples ?? {})
  return first && 'value' in first ? first.value : example
}

export const problemLink = (code: ProblemCode): Html => html`<a href="#${code}"><code>${code}</code></a>`

function problemsPart(route: RouteSpec): Html {
  const own = new Set<ProblemCode>(route.problems)
  const all = problemsOf(route)
  const lines = all
    .filter(code => own.has(code))
    .map(
      code =>
        html`<li><span class="status">${PROBLEMS[code].status}</span> ${problemLink(code)} ${PROBLEMS[code].title}</li>`,
    )
  const others = all.filter(code => !own.has(code)).map(problemLink)
  return html`<h3>Problems</h3>${lines.length === 0 ? null : html`<ul class="problems">${lines}</ul>`}
<p class="others">${lines.length === 0 ? 'Problems' : 'Also problems'} of every route: ${joined(others, ', ')}</p>`
}
