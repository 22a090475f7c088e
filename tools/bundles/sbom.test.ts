import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const { sbomOf } = await import(new URL('sbom.mjs', import.meta.url).href)

const root = fileURLToPath(new URL('../..', import.meta.url))
const json = (path: string): unknown => JSON.parse(readFileSync(`${root}${path}`, 'utf8'))

const Locked = z.object({
  version: z.string().optional(),
  license: z.string().optional(),
  integrity: z.string().optional(),
  dev: z.boolean().default(false),
  link: z.boolean().default(false),
})
const { packages } = z.object({ packages: z.record(z.string(), Locked) }).parse(json('package-lock.json'))
const runtime = Object.entries(packages).filter(
  ([path, { dev, link }]) => path.includes('node_modules/') && !dev && !link,
)

/** The required fields of CycloneDX 1.6, and those that scanners of vulnerabilities and licenses need. */
const Licenses = z
  .array(
    z.union([
      z.strictObject({ license: z.strictObject({ id: z.string() }) }),
      z.strictObject({ expression: z.string() }),
    ]),
  )
  .length(1)
const Purl = z.string().regex(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d[\w.+-]*$/)
const Component = z.strictObject({
  type: z.literal('library'),
  'bom-ref': Purl,
  group: z.string().startsWith('@').optional(),
  name: z.string().regex(/^[^@/]+$/),
  version: z.string().min(1),
  scope: z.enum(['required', 'optional']),
  hashes: z.tuple([z.strictObject({ alg: z.literal('SHA-512'), content: z.string().regex(/^[0-9a-f]{128}$/) })]),
  licenses: Licenses,
  purl: Purl,
})
const Bom = z.strictObject({
  $schema: z.literal('http://cyclonedx.org/schema/bom-1.6.schema.json'),
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.literal('1.6'),
  version: z.literal(1),
  metadata: z.strictObject({
    component: z.looseObject({ type: z.literal('application'), 'bom-ref': Purl, licenses: Licenses }),
  }),
  components: z.array(Component),
  dependencies: z.array(z.strictObject({ ref: Purl, dependsOn: z.array(Purl) })),
})
const made = () => Bom.parse(sbomOf(json('package.json'), json('package-lock.json')))

describe('the bill of materials', () => {
  const bom = made()

  it('has every runtime package of the lock file, with its license and integrity, and no other', () => {
    expect(runtime.length).toBeGreaterThan(100)
    const wanted = runtime.map(([path, { version, license = '', integrity = '' }]) => {
      const name = path.replace(/^.*node_modules\//, '')
      const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')
      return [`pkg:npm/${name.replace('@', '%40')}@${version}`, license, content].join(' ')
    })
    const found = bom.components.map(({ purl, licenses: [license], hashes: [hash] }) => {
      const words = license === undefined ? '' : 'expression' in license ? license.expression : license.license.id
      return [purl, words, hash.content].join(' ')
    })
    expect(found.toSorted()).toEqual([...new Set(wanted)].toSorted())
  })

  it('names each package once, and refers only to packages that it has', () => {
    const refs = bom.components.map(component => component['bom-ref'])
    const known = new Set([...refs, bom.metadata.component['bom-ref']])
    expect(known.size).toBe(refs.length + 1)
    expect(new Set(bom.dependencies.map(({ ref }) => ref))).toEqual(known)
    const named = bom.dependencies.flatMap(({ dependsOn }) => dependsOn)
    expect(named.filter(ref => !known.has(ref))).toEqual([])
    expect(new Set(named)).toEqual(new Set(refs))
  })

  it('is the same text every time', () => {
    expect(JSON.stringify(made())).toBe(JSON.stringify(bom))
  })

  it('is refused for a package without integrity', () => {
    const [path = ''] = runtime[0] ?? []
    const lock = {
      packages: { ...Object(json('package-lock.json')).packages, [path]: { version: '1.0.0', license: 'MIT' } },
    }
    expect(() => sbomOf(json('package.json'), lock)).toThrow(`no license or sha512 integrity of ${path}`)
  })
})
