import { problemExample } from '../openapi/problem-responses.ts'
import { API_PREFIX } from '../routes.ts'
import { SAMPLE_ORIGIN } from './curl.ts'
import { type Html, html, prose, sample } from './html.ts'

const URL_PREFIX = `${SAMPLE_ORIGIN}${API_PREFIX}`
const AUTHORIZATION = '-H "Authorization: Bearer $(cat .lcm/admin-token)"'

const TOKEN =
  'The first start of LCM wrote a token to `.lcm/admin-token`. The commands below read it there: run them in the folder ' +
  'where you ran `npm start`. For a token of your own, with fewer rights:'

const LIST = `curl ${AUTHORIZATION} \\
  ${URL_PREFIX}/workers`

const CREATE = `curl ${AUTHORIZATION} \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: my-first-worker' \\
  -d '{"template_name": "metal", "name": "mine"}' \\
  ${URL_PREFIX}/workers`

const FOLLOW = `curl -N ${AUTHORIZATION} \\
  ${URL_PREFIX}/events`

/** What a newcomer does in the first minute. */
export const firstCall = (): Html => html`<section id="first-call"><h2>First call</h2>
<ol class="steps">
<li><p>${prose(TOKEN)}</p>${sample('shell', 'npx lcm create token --role operator --name me')}</li>
<li><p>List the workers.</p>${sample('shell', LIST, `${API_PREFIX}/workers`)}</li>
<li><p>${prose('Ask for one more. Run it twice: the `Idempotency-Key` makes the repeat harmless.')}</p>${sample('shell', CREATE)}</li>
<li><p>Watch it boot. Ctrl-C ends it.</p>${sample('shell', FOLLOW)}</li>
</ol></section>`

const CONVENTIONS: Readonly<Record<string, string>> = {
  'Who you are':
    'Send `Authorization: Bearer` with a token. A browser that a login link logged in has a cookie instead, and may act ' +
    'from the console only. Roles: `admin` all but the routes of controllers; `operator` the fleet; `author` ' +
    'definitions; `user` own sessions, reads the fleet; `controller` the routes of its own service.',
  Addresses: 'Everything is below `/api/v1`. Bodies and answers are JSON in UTF-8, sent as `application/json`.',
  Spelling:
    'Fields are `snake_case`, statuses `UPPER_CASE`. Instants are RFC 3339 in UTC with milliseconds, such as ' +
    '`2026-01-02T03:04:05.678Z`. Durations are in seconds, with the unit in the name.',
  'Wishes and facts':
    '`desired_status` belongs to people and policies, `status` to controllers. An act such as `stop` answers 202 with ' +
    'the resource as soon as the wish is stored; controllers do the rest, and the events tell.',
  Lists:
    'Come in pages of `limit` (100 unless said, at most 1000). While `next_cursor` is not null, ask again with it as ' +
    '`cursor`. `revision` is the position of the event stream at which the list was true.',
  Versions:
    'Every resource has a `version` that grows by one per write and travels as `ETag`. Send it back as `If-Match`, and a ' +
    'write that would undo another is refused with 412. People may leave it out; controllers may not.',
  Repeats:
    'Where it is listed, `Idempotency-Key` (1 to 128 printable characters of your choice) makes a repeat within 24 hours ' +
    'give the first answer again, marked `Idempotent-Replayed: true`.',
  'Unknown fields': 'Are refused in requests. Answers may gain fields: ignore those you do not know.',
  'Too fast': '429 comes with `Retry-After`: wait for that many seconds.',
}

const ERRORS =
  'Every refusal is `application/problem+json` (RFC 9457). Programs look at `code`, people read `detail`; `errors` names ' +
  'each field that was wrong, and `type` leads to the explanation on this page.'

/** What holds for every call. */
export const conventions = (): Html => html`<section id="conventions"><h2>Conventions</h2>
<dl class="pairs">${Object.entries(CONVENTIONS).map(([title, text]) => html`<dt>${title}</dt><dd>${prose(text)}</dd>`)}
<dt>Errors</dt><dd>${prose(ERRORS)}${sample('json', JSON.stringify(problemExample('validation_failed'), null, 2))}</dd></dl></section>`
