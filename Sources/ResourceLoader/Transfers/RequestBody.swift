/// A JSON value whose text is canonical: members sorted by name, no white space, so that equal values are equal requests.
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A finite number; ``TransferRequest`` refuses others, because JSON has no word for them.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Whether every number in the value is finite.
    var isRepresentable: Bool {
        switch self {
        case .number(let number): number.isFinite
        case .array(let values): values.allSatisfy(\.isRepresentable)
        case .object(let members): members.values.allSatisfy(\.isRepresentable)
        case .null, .bool, .integer, .string: true
        }
    }

    /// The canonical text in UTF-8 (RFC 8259).
    package var canonicalBytes: [UInt8] {
        var text = ""
        write(to: &text)
        return Array(text.utf8)
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .number(let value): text += "\(value)"
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            // By bytes: Swift's own order of strings follows Unicode's equivalences, which other JSON writers do not.
            let names = members.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            for (index, name) in names.enumerated() {
                if index > 0 { text += "," }
                Self.write(name, to: &text)
                text += ":"
                members[name]?.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\u{0}"..<"\u{20}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

/// The parameters of a POST. They are part of the request's identity.
public enum RequestBody: Sendable, Hashable {
    /// `application/x-www-form-urlencoded`. Sorted by name before they are sent, so that the order in which a program builds
    /// them does not matter; fields of one name keep their order.
    case form([FormField])
    /// `application/json`, canonical.
    case json(JSONValue)
    /// Bytes as they are.
    case bytes([UInt8], contentType: String)

    /// A field of a form.
    public struct FormField: Sendable, Hashable {
        /// The field's name, as it is before encoding.
        public let name: String
        /// The field's value, as it is before encoding.
        public let value: String

        /// A field of that name and value.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The value of the Content-Type header.
    package var contentType: String {
        switch self {
        case .form: "application/x-www-form-urlencoded"
        case .json: "application/json"
        case .bytes(_, let contentType): contentType
        }
    }

    /// The bytes that are sent and that count for the identity.
    package var canonicalBytes: [UInt8] {
        switch self {
        case .form(let fields): Self.encode(fields)
        case .json(let value): value.canonicalBytes
        case .bytes(let bytes, _): bytes
        }
    }

    private static func encode(_ fields: [FormField]) -> [UInt8] {
        let ordered = fields.enumerated().sorted { left, right in
            let (first, second) = (left.element.name.utf8, right.element.name.utf8)
            if first.elementsEqual(second) { return left.offset < right.offset }
            return first.lexicographicallyPrecedes(second)
        }
        var bytes: [UInt8] = []
        for (_, field) in ordered {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            appendEncoded(field.name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            appendEncoded(field.value, to: &bytes)
        }
        return bytes
    }

    /// The URL standard's form encoding: letters, digits and `*-._` as they are, a space as `+`, the rest as `%XX`.
    private static func appendEncoded(_ text: String, to bytes: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                bytes.append(byte)
            case UInt8(ascii: " "):
                bytes.append(UInt8(ascii: "+"))
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }
}

extension RequestBody: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type only: parameters hold credentials.
    public var description: String { contentType }
    public var debugDescription: String { contentType }
    public var customMirror: Mirror { Mirror(self, children: ["contentType": contentType]) }
}

extension RequestBody.FormField: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name only.
    public var description: String { "\(name)=…" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
