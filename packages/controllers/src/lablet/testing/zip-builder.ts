import { deflateRawSync } from 'node:zlib'

export interface ZipFile {
  readonly name: string
  readonly data: string | Buffer
  readonly isStored?: boolean
  /** The size in the directory, when it differs from the real one. */
  readonly saysBytes?: number
  readonly flags?: number
}

/** A zip as any tool would write it, or as an attacker would. */
export function aZip(files: readonly ZipFile[], saysEntries = files.length): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { name, data, isStored = false, saysBytes, flags = 0 } of files) {
    const raw = Buffer.from(data)
    const packed = isStored ? raw : deflateRawSync(raw)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(flags, 2)
    fields.writeUInt16LE(isStored ? 0 : 8, 4)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(saysBytes ?? raw.length, 18)
    fields.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([u32(0x04034b50), fields, Buffer.from(name), packed])
    const place = Buffer.concat([Buffer.alloc(10), u32(at)])
    directory.push(Buffer.concat([u32(0x02014b50), Buffer.from([20, 0]), fields, place, Buffer.from(name)]))
    locals.push(local)
    at += local.length
  }
  const entries = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(saysEntries, 4)
  end.writeUInt16LE(saysEntries, 6)
  end.writeUInt32LE(entries.length, 8)
  end.writeUInt32LE(at, 12)
  return Buffer.concat([...locals, entries, u32(0x06054b50), end])
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
