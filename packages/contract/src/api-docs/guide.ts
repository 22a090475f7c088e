import { problemExample } from '../openapi/problem-responses.ts'
import { API_PREFIX } from '../routes.ts'
import { SAMPLE_ORIGIN } from './curl-examples.ts'
import { type Html, html, prose, sample } from './safe-html.ts'

const URL_PREFIX = `${SAMPLE_ORIGIN}${API_PREFIX}`
const AUTHORIZATION = '-H "Authorization: Bearer $(cat .lcm/admin-token)"'

const TOKEN =
  'The first start of LCM writes an admin token to `.lcm/admin-token`. Run the commands below in the folder where you ran ' +
  '`npm start`. To create a token with fewer permissions:'

const LIST = `curl ${AUTHORIZATION} \\
  ${URL_PREFIX}/workers`

const CREATE = `curl ${AUTHORIZATION} \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: my-first-worker' \\
  -d '{"template_name": "metal", "name": "mine"}' \\
  ${URL_PREFIX}/workers`

const FOLLOW = `curl -N ${AUTHORIZATION} \\
  ${URL_PREFIX}/events`

/** The first steps with the API. */
export const firstCall = (): Html => html`<section id="first-call"><h2>First call</h2>
<ol class="steps">
<li><p>${prose(TOKEN)}</p>${sample('shell', 'npx lcm create token --role operator --name me')}</li>
<li><p>List workers.</p>${sample('shell', LIST, `${API_PREFIX}/workers`)}</li>
<li><p>${prose('Create a worker. You can run it twice: the `Idempotency-Key` makes the retry safe.')}</p>${sample('shell', CREATE)}</li>
<li><p>Watch it boot. Press Ctrl-C to stop.</p>${sample('shell', FOLLOW)}</li>
</ol></section>`

const CONVENTIONS: Readonly<Record<string, string>> = {
  Authentication:
    'Send `Authorization: Bearer` with a token. A browser that signed in has a cookie instead and may write from the ' +
    'console only. Roles: `admin` everything but the controller routes; `operator` the fleet; `author` definitions; ' +
    '`user` own sessions, reads the fleet; `controller` the routes of its own service.',
  Format: 'All paths begin with `/api/v1`. Bodies are JSON in UTF-8, sent as `application/json`.',
  Naming:
    'Fields are `snake_case`, statuses `UPPER_CASE`. Instants are RFC 3339 in UTC with milliseconds, such as ' +
    '`2026-01-02T03:04:05.678Z`. Durations are in seconds, with the unit in the name.',
  'Requested and observed status':
    'Callers and policies set `desired_status`, controllers set `status`. An action such as `stop` returns 202 with the ' +
    'resource as soon as the request is stored. Controllers do the rest and publish events.',
  Lists:
    'A page has `limit` items (100 by default, at most 1000). While `next_cursor` is not null, send it as `cursor` to ' +
    'read the next page. `revision` is the event stream position at which the list was read.',
  Versions:
    'Every resource has a `version` that grows by one per write and is sent as `ETag`. Send it as `If-Match`, and a ' +
    'write that would overwrite another one is refused with 412. It is optional for people, required for controllers.',
  Retries:
    'With an `Idempotency-Key` (1 to 128 printable characters of your choice), a retry within 24 hours returns the first ' +
    'response again, with `Idempotent-Replayed: true`.',
  'Unknown fields': 'Requests with unknown fields are refused. Responses may gain fields: ignore unknown ones.',
  'Rate limits': 'Status 429 has a `Retry-After` header: wait that many seconds. A body counts as one request per KiB.',
}

const ERRORS =
  'Every refusal is `application/problem+json` (RFC 9457). `code` is for programs, `detail` for people; `errors` lists ' +
  'the wrong fields, and `type` links to the explanation on this page.'

/** Rules for all routes. */
export const conventions = (): Html => html`<section id="conventions"><h2>Conventions</h2>
<dl class="pairs">${Object.entries(CONVENTIONS).map(([title, text]) => html`<dt>${title}</dt><dd>${prose(text)}</dd>`)}
<dt>Errors</dt><dd>${prose(ERRORS)}${sample('json', JSON.stringify(problemExample('validation_failed'), null, 2))}</dd></dl></section>`
