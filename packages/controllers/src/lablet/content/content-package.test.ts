import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { aZip, type ZipFile } from '../testing/zip-builder.ts'
import { readPackage } from './content-package.ts'
import { ENTRY_BYTES_MAX } from './zip-entries.ts'

const YAML = 'lab:\n  version: 0.3.0\nnodes: []\nlinks: []\n'
const topologyIn = (...files: ZipFile[]) => readPackage(aZip(files)).topology

describe('a package', () => {
  it('is the YAML itself', () => {
    const sha256 = createHash('sha256').update(YAML).digest('hex')
    expect(readPackage(Buffer.from(YAML))).toEqual({ topology: YAML, package_sha256: sha256 })
  })

  it.each<[string, ZipFile[]]>([
    [
      'its only YAML at the top',
      [
        { name: 'lab.yml', data: YAML },
        { name: 'readme.md', data: '#' },
      ],
    ],
    ['stored as it is', [{ name: 'lab.yaml', data: YAML, isStored: true }]],
    [
      'called topology.yaml',
      [
        { name: 'a.yaml', data: 'a: 1' },
        { name: 'topology.yaml', data: YAML },
      ],
    ],
    [
      'called cml.yaml',
      [
        { name: 'a.yaml', data: 'a: 1' },
        { name: 'cml.yaml', data: YAML },
      ],
    ],
    [
      'next to folders',
      [
        { name: 'x/', data: '' },
        { name: 'x/b.yaml', data: 'b: 1' },
        { name: 'lab.yaml', data: YAML },
      ],
    ],
  ])('is a zip with the topology %s', (_, files) => {
    expect(topologyIn(...files)).toBe(YAML)
  })

  it.each<[string, () => Buffer, string]>([
    ['no topology', () => aZip([{ name: 'x/lab.yaml', data: YAML }]), 'no .yaml or .yml at its top'],
    [
      'two',
      () => aZip(['a', 'b'].map(name => ({ name: `${name}.yaml`, data: YAML }))),
      'several topologies (a.yaml, b.yaml)',
    ],
    ['a name above it', () => aZip([{ name: '../lab.yaml', data: YAML }]), 'an entry outside of it: ../lab.yaml'],
    [
      'a name below and above',
      () =>
        aZip([
          { name: 'a/../../b', data: '' },
          { name: 'lab.yaml', data: YAML },
        ]),
      'an entry outside of it',
    ],
    ['an absolute name', () => aZip([{ name: '/etc/lab.yaml', data: YAML }]), 'an entry outside of it'],
    ['a Windows name', () => aZip([{ name: 'C:\\lab.yaml', data: YAML }]), 'an entry outside of it'],
    [
      'a bomb',
      () => aZip([{ name: 'lab.yaml', data: Buffer.alloc(ENTRY_BYTES_MAX + 1, 32), saysBytes: 10 }]),
      'unpacks to more',
    ],
    [
      'an honest bomb',
      () => aZip([{ name: 'lab.yaml', data: Buffer.alloc(ENTRY_BYTES_MAX + 1, 32) }]),
      'unpacks to more',
    ],
    ['too many entries', () => aZip([{ name: 'lab.yaml', data: YAML }], 5000), '5000 entries'],
    ['entries that are not there', () => aZip([{ name: 'lab.yaml', data: YAML }], 2), 'damaged'],
    ['a secret', () => aZip([{ name: 'lab.yaml', data: YAML, flags: 1 }]), 'is encrypted'],
    ['half of it', () => aZip([{ name: 'lab.yaml', data: YAML }]).subarray(0, 60), 'ends too early'],
    ['no text', () => aZip([{ name: 'lab.yaml', data: Buffer.from([0xff, 0xfe, 0x00]) }]), 'not UTF-8'],
    ['nothing', () => aZip([{ name: 'lab.yaml', data: '  \n' }]), 'is empty'],
  ])('that is a zip with %s is refused', (_, zip, message) => {
    expect(() => readPackage(zip())).toThrow(message)
  })
})
