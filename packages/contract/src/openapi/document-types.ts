import type { Role, ServiceName } from '@lcm/domain/actor'
import type { ProblemCode } from '../problem-codes.ts'

/** The subset of JSON Schema 2020-12 that the document uses. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly propertyNames?: JsonSchema
  readonly items?: JsonSchema
  readonly prefixItems?: readonly JsonSchema[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  /** A default that is an object or an array. */
  readonly 'x-lcm-default'?: unknown
  readonly examples?: readonly unknown[]
  readonly description?: string
  readonly format?: string
  /** The media type of a text, and the schema of its content. */
  readonly contentMediaType?: string
  readonly contentSchema?: JsonSchema
  readonly pattern?: string
  /** The pattern in words. */
  readonly 'x-lcm-format'?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
}

export type Schemas = Readonly<Record<string, JsonSchema>>

export interface Reference {
  readonly $ref: string
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
  readonly example?: unknown
}

export interface Example {
  readonly summary?: string
  readonly value: unknown
}

export interface MediaType {
  readonly schema: JsonSchema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, Example | Reference>>
}

export interface Header {
  readonly description: string
  readonly required?: true
  readonly schema: JsonSchema
}

export interface Answer {
  readonly description: string
  readonly headers?: Readonly<Record<string, Reference>>
  readonly content?: Readonly<Record<string, MediaType>>
}

export interface RequestBody {
  readonly description: string
  readonly required: boolean
  readonly content: Readonly<Record<string, MediaType>>
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  /** The roles that may call it. */
  readonly 'x-lcm-roles': readonly Role[]
  /** The service whose controllers may call it. */
  readonly 'x-lcm-service'?: ServiceName | readonly ServiceName[] | 'any'
  readonly 'x-lcm-problems': readonly ProblemCode[]
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly (Parameter | Reference)[]
  readonly requestBody?: RequestBody
  readonly responses: Readonly<Record<string, Answer | Reference>>
}

export interface Components {
  readonly securitySchemes: Readonly<Record<string, object>>
  readonly parameters: Readonly<Record<string, Parameter>>
  readonly headers: Readonly<Record<string, Header>>
  readonly responses: Readonly<Record<string, Answer>>
  readonly examples: Readonly<Record<string, Example>>
  readonly schemas: Schemas
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: Readonly<Record<string, unknown>>
  readonly externalDocs: { readonly description: string; readonly url: string }
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Components
}
