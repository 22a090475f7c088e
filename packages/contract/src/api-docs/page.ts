import { openApi } from '../openapi/document.ts'
import { tagsOf } from '../openapi/tags.ts'
import { API_PREFIX, ROUTES, type RouteSpec } from '../routes.ts'
import { eventsSection, problemsSection, schemasSection } from './event-schema-problem-sections.ts'
import { conventions, firstCall } from './guide.ts'
import { operationSections, tagTitle } from './operation-sections.ts'
import { SCRIPT } from './page-script.ts'
import { STYLE } from './page-style.ts'
import { type Html, html } from './safe-html.ts'

/** The page refers to these paths, and the `type` of a problem links to the page. */
export const API_DOCS_PATHS = { html: '/api/docs', css: '/api/docs/style.css', script: '/api/docs/script.js' } as const

/** Kept apart from its brackets: the bundler misreads a tagged template that contains the end tag of a script. */
const SCRIPT_TAG = 'script'

export interface ApiDocsPage {
  readonly html: string
  readonly css: string
  /** The page works without it. */
  readonly script: string
}

/** The API documentation, made from the contract. It loads nothing from other hosts and has no inline style or script. */
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
${navigation(tagsOf(specs))}
<main id="main">
<h1>Lablet Cloud Manager API</h1>
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

const navigation = (tags: readonly string[]): Html => html`<nav aria-label="Contents">
<p class="filter" hidden><label for="filter">Filter operations</label>
<input id="filter" type="search" placeholder="worker stop" autocomplete="off"><span id="filter-count" role="status"></span></p>
<ul>${link('first-call', 'First call')}${link('conventions', 'Conventions')}</ul>
<ul>${tags.map(tag => link(`tag-${tag}`, tagTitle(tag)))}</ul>
<ul>${link('event-types', 'Event types')}${link('schemas', 'Schemas')}${link('problems', 'Problems')}</ul>
</nav>`
