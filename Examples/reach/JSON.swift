/// A value of JSON (RFC 8259).
enum JSONValue {
    case text(String)
    case number(Int64)
    case flag(Bool)
    case null
    case list([JSONValue])
    case object(JSONObject)

    var text: String {
        switch self {
        case .text(let text): quoted(text)
        case .number(let number): String(number)
        case .flag(let flag): flag ? "true" : "false"
        case .null: "null"
        case .list(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let object): object.text
        }
    }
}

/// An object whose keys keep their order.
struct JSONObject {
    private var members: [String] = []

    mutating func add(_ key: String, _ value: JSONValue) { members.append("\(quoted(key)):\(value.text)") }

    var text: String { "{" + members.joined(separator: ",") + "}" }
}

/// An interface name may hold any byte but `/` and white space, so nothing is taken for granted.
private func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": result += "\\\""
        case "\\": result += "\\\\"
        case _ where scalar.value < 0x20:
            let digits = String(scalar.value, radix: 16)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}
