import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

const root = fileURLToPath(new URL('..', import.meta.url))
const Manifest = z.object({
  name: z.string(),
  version: z.string(),
  bin: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
})
const Locked = z.object({
  version: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
})
const Lock = z.object({ packages: z.record(z.string(), Locked) })
const Items = z.object({ items: z.array(z.object({ name: z.string() })) })
const Endpoints = z.object({ api: z.string() })

/** Imports of packages as the bundler writes them: by name, in double quotes. Types in comments stand after a brace. */
const PACKAGE_IMPORTS =
  /(?:^(?:import|export)\b[^"\n]*from |^import |(?<!\{)\bimport\(|\b__require\()"(?!node:)((?:@[^"/]+\/)?[^"./][^"/]*)[^"]*"/gm

const scratch = mkdtempSync(join(tmpdir(), 'lcm-pack-'))
/** The tarball as npm unpacks it. */
const unpacked = join(scratch, 'package')
const json = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)))
    .sort()

beforeAll(() => {
  const output = execFileSync(process.execPath, [join(root, 'tools', 'pack.mjs'), scratch], { encoding: 'utf8' })
  const [tarball = ''] = output.split(':')
  execFileSync('tar', ['-xzf', join(scratch, tarball), '-C', scratch])
})

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Keeps reading after that: closing the pipe would end a process that still writes. */
const welcomed = (child: ChildProcessByStdio<null, Readable, null>): Promise<void> =>
  new Promise((resolve, reject) => {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.includes('Ctrl-C')) resolve()
    })
    child.once('exit', code => reject(new Error(`lcm up ended with ${code}: ${output}`)))
  })

describe('the package', () => {
  it('contains only the product', () => {
    const files = filesBelow(unpacked)
    const besideTheBundle = files.filter(path => !/^dist\/([^/]+\.mjs|console\/assets\/[^/]+\.(js|css))$/.test(path))
    expect(besideTheBundle).toEqual([
      'LICENSE',
      'README.md',
      'deploy/templates/metal.yaml',
      'deploy/templates/nested-large.yaml',
      'deploy/templates/nested.yaml',
      'dist/console/favicon.svg',
      'dist/console/index.html',
      'dist/third-party-licenses.txt',
      'examples/labs/two-routers.yaml',
      'npm-shrinkwrap.json',
      'package.json',
      'sbom.cdx.json',
    ])
    expect(files).toContain('dist/lcm.mjs')
    const { name, version } = Manifest.parse(json(join(unpacked, 'package.json')))
    expect(json(join(scratch, `${name}-${version}.cdx.json`))).toEqual(json(join(unpacked, 'sbom.cdx.json')))
    expect(files.some(path => path.startsWith('dist/console/assets/'))).toBe(true)
  })

  it('depends on the imports of the bundle, in the tested versions, and on nothing else', () => {
    const { dependencies } = Manifest.parse(json(join(unpacked, 'package.json')))
    const { packages } = Lock.parse(json(join(root, 'package-lock.json')))
    const chunks = filesBelow(unpacked).filter(path => path.endsWith('.mjs'))
    const imported = chunks.flatMap(path =>
      [...readFileSync(join(unpacked, path), 'utf8').matchAll(PACKAGE_IMPORTS)].map(([, name = '']) => name),
    )
    expect([...new Set(imported)].filter(name => !isBuiltin(name)).sort()).toEqual(Object.keys(dependencies))
    for (const [name, version] of Object.entries(dependencies)) {
      expect(packages[`node_modules/${name}`]?.version, name).toBe(version)
    }
  })

  it('pins all transitive dependencies like the lock file', () => {
    const ours = Lock.parse(json(join(root, 'package-lock.json'))).packages
    const { '': self, ...fixed } = Lock.parse(json(join(unpacked, 'npm-shrinkwrap.json'))).packages
    expect(self).toMatchObject({ version: Manifest.parse(json(join(unpacked, 'package.json'))).version })
    expect(Object.keys(fixed).length).toBeGreaterThan(Object.keys(self?.dependencies ?? {}).length)
    for (const [path, { version }] of Object.entries(fixed)) expect(ours[path]?.version, path).toBe(version)
    expect(Object.keys(fixed)).not.toContain('node_modules/vitest')
    expect(readFileSync(join(unpacked, 'npm-shrinkwrap.json'), 'utf8')).not.toContain('://registry')
  })

  it('runs from its own folder: version, console, templates, examples, and a clean exit', async () => {
    for (const path of Object.keys(Lock.parse(json(join(unpacked, 'npm-shrinkwrap.json'))).packages).filter(Boolean)) {
      mkdirSync(dirname(join(unpacked, path)), { recursive: true })
      symlinkSync(join(root, path), join(unpacked, path))
    }
    const { version, bin } = Manifest.parse(json(join(unpacked, 'package.json')))
    const lcm = join(unpacked, bin.lcm ?? '')
    expect(execFileSync(process.execPath, [lcm, '--version'], { encoding: 'utf8' })).toContain(version)
    const data = join(scratch, 'data')
    const child = spawn(process.execPath, [lcm, 'up', '--port', '0', '--data', data], {
      cwd: scratch,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      await welcomed(child)
      const { api } = Endpoints.parse(json(join(data, 'endpoints.json')))
      expect(await (await fetch(api)).text()).toContain('<title>')
      const authorization = `Bearer ${readFileSync(join(data, 'admin-token'), 'utf8').trim()}`
      const named = async (path: string) => {
        const answer = await fetch(`${api}/api/v1/${path}`, { headers: { authorization } })
        return Items.parse(await answer.json()).items.map(({ name }) => name)
      }
      expect(await named('worker-templates')).toEqual(expect.arrayContaining(['metal', 'nested']))
      expect(await named('lablet-definitions')).toEqual(['two-routers'])
      child.kill('SIGTERM')
      expect(await once(child, 'exit')).toEqual([0, null])
    } finally {
      child.kill('SIGKILL')
    }
  })
})
