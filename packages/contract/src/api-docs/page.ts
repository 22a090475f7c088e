import { openApi } from '../openapi/document.ts'
import { areasOf } from '../openapi/tags.ts'
import { API_PREFIX, ROUTES, type RouteSpec } from '../routes.ts'
import { conventions, firstCall } from './guide.ts'
import { type Html, html } from './html.ts'
import { areaTitle, operationSections } from './operations.ts'
import { SCRIPT } from './page-script.ts'
import { STYLE } from './page-style.ts'
import { eventsSection, problemsSection, schemasSection } from './reference.ts'

/** Served at these addresses and nowhere else: the page names them, and `type` of a problem points at the page. */
export const API_DOCS_PATHS = { html: '/api/docs', css: '/api/docs/style.css', script: '/api/docs/script.js' } as const

/** Apart from its brackets: given a tagged template with a script's end tag, the bundler imports a package that is not there. */
const SCRIPT_TAG = 'script'

export interface ApiDocsPage {
  readonly html: string
  readonly css: string
  /** The page is whole without it. */
  readonly script: string
}

/** The API for people, made from the contract. It needs nothing from elsewhere and no inline style or script. */
export function apiDocsPage(version: string, routes: Readonly<Record<string, RouteSpec>> = ROUTES): ApiDocsPage {
  const document = openApi(version, routes)
  const specs = Object.values(routes)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>LCM API</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${API_DOCS_PATHS.css}">
<script src="${API_DOCS_PATHS.script}" defer></${SCRIPT_TAG}>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
${topBar(version)}
<div class="columns">
${navigation(areasOf(specs))}
<main id="main">
<h1>The API of Lablet Cloud Manager</h1>
${firstCall()}
${conventions()}
${operationSections(routes, document)}
${eventsSection(specs, document)}
${schemasSection(document)}
${problemsSection()}
</main>
</div>
</body>
</html>
`
  return { html: page.markup, css: STYLE, script: SCRIPT }
}

const link = (id: string, title: string): Html => html`<li><a href="#${id}">${title}</a></li>`

const topBar = (version: string): Html => html`<header class="bar">
<a class="brand" href="/">Lablet Cloud Manager</a> <span class="soft">API ${version}</span>
<a class="machine" href="${API_PREFIX}/openapi.json">openapi.json</a></header>`

const navigation = (areas: readonly string[]): Html => html`<nav aria-label="Contents">
<p class="filter" hidden><label for="filter">Filter operations</label>
<input id="filter" type="search" placeholder="worker stop" autocomplete="off"><span id="filter-count" role="status"></span></p>
<ul>${link('first-call', 'First call')}${link('conventions', 'Conventions')}</ul>
<ul>${areas.map(area => link(`area-${area}`, areaTitle(area)))}</ul>
<ul>${link('event-types', 'Event types')}${link('schemas', 'Schemas')}${link('problems', 'Problems')}</ul>
</nav>`
