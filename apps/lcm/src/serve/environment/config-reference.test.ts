import { readFileSync } from 'node:fs'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { describe, expect, it } from 'vitest'
import { SERVED } from '../one-service.ts'
import {
  apiEnvironment,
  labletControllerEnvironment,
  loopsOf,
  resourceSchedulerEnvironment,
  settingsEnvironment,
  upEnvironment,
  VARIABLES,
  workerControllerEnvironment,
} from './environment.ts'
import type { Env } from './read-environment.ts'

const PAGE = readFileSync(new URL('../../../../../docs/reference/config.md', import.meta.url), 'utf8')

type Reader = Exclude<keyof typeof VARIABLES, 'settings'>

/** Two variables of it are names of one thing, which has its default as what they lead to. */
function withLoops(env: Parameters<typeof loopsOf>[0]): object {
  const { AUTO_IMPORT_ENABLED: _one, WORKER_DISCOVERY_ENABLED: _other, ...rest } = env
  return { ...rest, loops: loopsOf(env) }
}

/** Required variables of each service, and its reader. */
const READERS: Readonly<Record<Reader, { needs: Env; read: (env: Env) => object }>> = {
  'control-plane-api': {
    needs: {
      LCM_STORE: 'sqlite:x',
      LCM_SECRET_KEY: 'ab'.repeat(32),
      LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: '/admin',
      AWS_REGIONS_CONFIG_PATH: '/regions.yaml',
    },
    read: apiEnvironment,
  },
  'resource-scheduler': { needs: { LCM_SERVICE_TOKEN: 't' }, read: resourceSchedulerEnvironment },
  'lablet-controller': { needs: { LCM_SERVICE_TOKEN: 't' }, read: labletControllerEnvironment },
  'worker-controller': {
    needs: { LCM_SERVICE_TOKEN: 't', LCM_FLEET: 'f', AWS_REGIONS_CONFIG_PATH: '/regions.yaml' },
    read: env => withLoops(workerControllerEnvironment(env)),
  },
  up: { needs: {}, read: env => withLoops(upEnvironment(env)) },
}
/** Variables that are refused without each other. */
const TLS = { LCM_TLS_CERT_FILE: '/cert', LCM_TLS_KEY_FILE: '/key' }
const PAIRS = { ETCD_CA_FILE: '/ca', ETCD_CERT_FILE: '/cert', ETCD_KEY_FILE: '/key', ETCD_USERNAME: 'u', ...TLS }
const CONTROLLERS: readonly Reader[] = ['resource-scheduler', 'lablet-controller', 'worker-controller']
/** Abbreviations on the page for several variables. */
const GROUPS: Readonly<Record<string, readonly Reader[]>> = {
  all: ['control-plane-api', ...CONTROLLERS],
  API: ['control-plane-api'],
  controllers: CONTROLLERS,
}
const EVERY_READER = Object.keys(READERS).filter(isReader)

function isReader(name: string): name is Reader {
  return Object.hasOwn(READERS, name)
}
const named = (words: string): Reader[] =>
  words
    .replaceAll('`', '')
    .split(', ')
    .flatMap(word => GROUPS[word] ?? (isReader(word) ? [word] : []))

/** The rows of the table below a heading, as their cells. */
function rowsBelow(heading: string): string[][] {
  const [, section = ''] = PAGE.split(`\n## ${heading}\n`)
  const [table = ''] = section.split('\n## ')
  return [...table.matchAll(/^\| `([A-Z0-9_]+)` \|(.*)\|$/gm)].map(([, name = '', cells = '']) => [
    name,
    ...cells.split(' | ').map(cell => cell.trim()),
  ])
}

const unquoted = (cell: string): string | null => /^`(.*)`/.exec(cell)?.[1] ?? null

describe('the variables of separate services', () => {
  const rows = rowsBelow('Separate services').map(([name = '', readers = '', fallback = '']) => ({
    name,
    readers: named(readers),
    fallback: unquoted(fallback),
  }))

  it.each(EVERY_READER)('of the %s are on the page, and no others', reader => {
    const onPage = rows.filter(({ readers }) => readers.includes(reader)).map(({ name }) => name)
    expect(onPage.toSorted()).toEqual(VARIABLES[reader].toSorted())
  })

  it.each(rows)('$name has the default on the page', ({ name, readers, fallback }) => {
    for (const reader of readers) {
      const { needs, read } = READERS[reader]
      const { [name]: given, ...others } = needs
      if (given !== undefined) {
        expect(fallback).toBeNull()
        expect(() => read(others)).toThrow(name)
      } else if (fallback === null) expect([undefined, '', []]).toContainEqual(Object(read(needs))[name])
      else expect(read({ ...needs, [name]: fallback })).toEqual(read(needs))
    }
  })

  it.each(rows)('$name accepts a value unchanged or refuses it', ({ name, readers }) => {
    for (const reader of readers) {
      const { needs, read } = READERS[reader]
      for (const value of MALFORMED)
        expectTakenOrRefused(name, value, () => read({ ...PAIRS, ...needs, [name]: value }))
    }
  })
})

/** None of them is a number, a word of a list, an address or a switch. */
const MALFORMED = ['~', '-1', '1e999', ' ']

/** The value as it is, or a refusal that names the variable and what is allowed: never another value in its place. */
function expectTakenOrRefused(name: string, value: string, read: () => object): void {
  let taken: object
  try {
    taken = read()
  } catch (error) {
    const { message, advice } = Object(error)
    expect(message).toMatch(new RegExp(`^${name}=.*: .+`))
    expect(advice).toMatch(/^set an allowed value and start again, see docs/)
    expect(message).not.toContain('not as it should be')
    return
  }
  expect(JSON.stringify(taken)).toContain(value)
}

it('has a file variant of every variable with a secret', () => {
  const names = EVERY_READER.flatMap(reader => VARIABLES[reader])
  const secrets = names.filter(name => /(TOKEN|KEY|KEYS|PASSWORD|SECRET|STORE|WEBHOOK_URL)$/.test(name))
  expect(secrets.length).toBeGreaterThan(5)
  expect(secrets.filter(name => !names.includes(`${name}_FILE`))).toEqual([])
})

it('lists the default ports of the services in order', () => {
  const services = Object.keys(SERVED).join('|')
  const [before = '', ...others] = Object.values(SERVED).toReversed()
  const ports = `${others.toReversed().join(', ')} and ${before}`
  expect(PAGE.replaceAll('\n', ' ')).toContain(
    `\`lcm serve ${services}\` take \`--host\` and \`--port\` (${ports} by default)`,
  )
})

describe('the settings', () => {
  const rows = rowsBelow('Settings').map(([name = '', setting = '', fallback = '']) => ({
    name,
    setting: unquoted(setting) ?? '',
    fallback: unquoted(fallback) ?? '',
  }))

  it('that come from the environment are on the page, and no others', () => {
    expect(rows.map(({ name }) => name).toSorted()).toEqual(VARIABLES.settings.toSorted())
  })

  it.each(rows)('$name sets $setting, which is $fallback by default', ({ name, setting, fallback }) => {
    const value = Object(SETTING_DEFAULTS)[setting]
    expect(value).toBeDefined()
    expect(settingsEnvironment({ [name]: fallback })).toEqual({ [setting]: value })
  })

  it.each(rows)('$name accepts a value unchanged or refuses it', ({ name }) => {
    for (const value of MALFORMED) expectTakenOrRefused(name, value, () => settingsEnvironment({ [name]: value }))
  })
})
